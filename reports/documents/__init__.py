"""One builder per kind of record: from a record to a document of typed blocks."""
