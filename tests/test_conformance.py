"""The page on other programs has the answers of today."""

from benchmarks import conformance


def test_every_case_has_the_answer_of_its_source_and_the_page_says_so():
    rows = list(conformance.cases())

    assert [row.what for row in rows if row.expected != row.ours] == []
    assert conformance.PAGE.read_text(encoding="utf-8") == conformance.page(rows)
