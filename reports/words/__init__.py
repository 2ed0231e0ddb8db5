"""What a report says: sentences, cells of tables, rounded numbers."""
