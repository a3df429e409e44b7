"""Two recommenders, ranked against all items that a user does not know from training.

The ratings are made: 600 users, 400 items, tastes in eight dimensions, popularity as uneven as MovieLens'.

    pip install graphgauge scikit-learn
    python examples/workflow_recommender.py
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD

from graphgauge import ranking
from graphgauge.stats import compare


def ratings(users: int = 600, items: int = 400, seed: int = 0) -> tuple[csr_matrix, csr_matrix]:
    """What users liked, in training and afterwards, as sparse matrices (users, items)."""
    rng = np.random.default_rng(seed)
    taste, style = rng.gamma(0.3, 1, (users, 8)), rng.gamma(0.3, 1, (items, 8))
    appeal = 1.5 * np.log(taste @ style.T + 0.05) + 0.6 * rng.normal(size=items) + rng.gumbel(size=(users, items))
    liked = np.argsort(-appeal, axis=1)
    counts = np.clip(rng.lognormal(3, 0.6, users), 8, 120).astype(int)
    train, test = np.zeros((users, items)), np.zeros((users, items))
    for user, count in enumerate(counts):
        chosen = rng.permutation(liked[user, :count])
        test[user, chosen[: count // 5]] = 1
        train[user, chosen[count // 5 :]] = 1
    return csr_matrix(train), csr_matrix(test)


def trained(train: csr_matrix) -> dict[str, np.ndarray]:
    """Scores of all users and items."""
    model = TruncatedSVD(8, random_state=0)
    popularity = np.asarray(train.sum(axis=0)).ravel()
    return {"SVD": model.fit_transform(train) @ model.components_, "popular": np.tile(popularity, (train.shape[0], 1))}


def main() -> None:
    train, test = ratings()
    scores = trained(train)
    # begin
    evaluations = {
        name: ranking.recommend(matrix, test=test, known=train, k=[10, 20]) for name, matrix in scores.items()
    }
    print(evaluations["SVD"])
    for metric in ("recall@20", "ndcg@20"):
        print(compare(evaluations, metric=metric, over="items"))
    # end


if __name__ == "__main__":
    main()
