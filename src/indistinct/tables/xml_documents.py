"""XML from untrusted files: documents with a document type are refused, so that no entity is ever expanded."""

import re
from xml.etree import ElementTree

from indistinct.errors import InputError

# An entity can expand to any number of others; no file that is read here needs a document type.
_DOCTYPE = re.compile(rb"<\0?!\0?(D\0?O\0?C\0?T\0?Y\0?P\0?E|E\0?N\0?T\0?I\0?T\0?Y)")


def parse_xml(content: bytes, name: str) -> ElementTree.Element:
    """Return an XML document; raise `InputError` for one that defines entities, which could expand without end."""
    if _DOCTYPE.search(content[:65536]) or _DOCTYPE.search(content):
        raise InputError(
            f"{name} has XML with a document type, which no such file needs", hint="do not open this file elsewhere"
        )
    return ElementTree.fromstring(content)  # noqa: S314  (without a document type there are no entities)
