"""When isolation pays: the runs, the record, the page and its picture."""
