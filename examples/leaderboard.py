"""Which places of a leaderboard are exchangeable, from the printed means and standard deviations alone.

`ogbl_citation.csv` has the first nine places of the leaderboard for ogbl-citation of the Open Graph Benchmark, which is
closed (https://ogb.stanford.edu/docs/leader_deprecated/). Its rules ask for mean and unbiased standard deviation
over ten seeds (https://ogb.stanford.edu/docs/leader_overview/). Two entries have the same name; their months are added.
"""

from pathlib import Path

from graphgauge.stats import compare_published

board = compare_published(Path(__file__).with_name("ogbl_citation.csv"), n=10, metric="Test MRR", direction="higher")
print(board)
for method, (first, last) in board.places().items():
    print(f"{method}: place {first}" if first == last else f"{method}: a place from {first} to {last}")
