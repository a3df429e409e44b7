"""Export to other tools; each is imported only when it is used."""
