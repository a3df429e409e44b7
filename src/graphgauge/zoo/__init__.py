"""Real systems to evaluate, run by `graphgauge zoo NAME`. No family imports them."""
