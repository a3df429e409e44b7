"""Other tools that results go to; each is imported only when it is used."""
