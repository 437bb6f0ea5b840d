"""Sentences are looked up with the full stop that ends them."""

from indistinct.document.catalogue import read_catalogue


def test_a_full_stop_ends_the_sentence_where_a_value_ends_the_message():
    german = read_catalogue("de")
    sentence = "4,980 of 5,000 rows (99.6 %) are unique on the sensitive column 'cost'"
    assert german.translate(f"{sentence}.") == f"{german.translate(sentence)}."
