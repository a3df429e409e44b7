"""Two text retrievers with graded relevance, on the documentation that ships with NumPy.

A query is the first line of a function's docstring. Its own text is the best answer (grade 2), the functions under
“See Also” are good ones (grade 1), all others are wrong.

    pip install graphgauge scikit-learn
    python examples/workflow_retrieval.py
"""

from __future__ import annotations

import re

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from graphgauge import ranking
from graphgauge.stats import compare


def documentation() -> tuple[list[str], list[str], np.ndarray]:
    """First lines, texts without them, and grades (queries, documents)."""
    found = {name: getattr(np, name).__doc__ or "" for name in dir(np) if callable(getattr(np, name))}
    summary = {
        name: " ".join(text.split("\n\n")[0 if "(" not in text.split("\n")[0] else 1].split())
        for name, text in found.items()
        if len(text) > 300
    }
    body, related = {}, {}
    for name in summary:
        parts = re.split(r"\n\s*See Also\s*\n\s*-+\n", found[name].replace(summary[name], ""))
        also, _, rest = parts[1].partition("\n\n") if len(parts) > 1 else ("", "", "")
        body[name] = parts[0] + rest
        related[name] = {word for word in re.findall(r"\w+", also) if word in summary and word != name}
    names = [name for name in summary if summary[name]]
    grades = np.array([[2 if a == b else int(b in related[a]) for b in names] for a in names])
    return [summary[name] for name in names], [body[name] for name in names], grades


def scored(queries: list[str], texts: list[str]) -> dict[str, np.ndarray]:
    """Similarities (queries, documents) by words, and by parts of words."""
    scores = {}
    for name, options in (
        ("words", {"stop_words": "english"}),
        ("parts", {"analyzer": "char_wb", "ngram_range": (3, 5)}),
    ):
        vectors = TfidfVectorizer(sublinear_tf=True, **options).fit(texts)
        scores[name] = (vectors.transform(queries) @ vectors.transform(texts).T).toarray()
    return scores


def main() -> None:
    queries, texts, grades = documentation()
    scores = scored(queries, texts)
    # begin
    query = np.repeat(np.arange(len(queries)), len(texts))
    evaluations = {
        name: ranking.evaluate(ranking.Queries.from_lists(matrix.ravel(), grades.ravel(), query), k=[10])
        for name, matrix in scores.items()
    }
    print(evaluations["words"])
    print(compare(evaluations, metric="ndcg@10", over="items"))
    # end


if __name__ == "__main__":
    main()
