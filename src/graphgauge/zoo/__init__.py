"""Real systems to evaluate. No family imports them; `graphgauge zoo NAME` drives them."""
