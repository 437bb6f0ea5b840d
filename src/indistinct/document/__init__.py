"""Documents: titles, sentences, tables with typed cells and pictures as values, and how they are rendered.

A result is put into a document once. The terminal, HTML, Markdown and the web app each render documents in one module.
"""
