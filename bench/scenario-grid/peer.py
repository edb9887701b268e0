"""Scenario 4-2 with scikit-learn: GridSearchCV with leave-one-out over the whole published grid.

python peer.py samples.csv JOBS -> JSON: seconds, MAPE at sampling rate 1, and the chosen models.
"""

import json
import os
import sys
import time

os.environ["PYTHONWARNINGS"] = "ignore"
import warnings

import numpy as np
import sklearn
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.neural_network import MLPRegressor

warnings.simplefilter("ignore")
ALPHAS = [1e-15, 1e-10, 1e-8, 1e-3, 1e-2, 1.0, 5.0, 10.0, 20.0]
SEED = 0
GRIDS = [
    (Lasso(), {"alpha": ALPHAS}),
    (Ridge(), {"alpha": ALPHAS}),
    (RandomForestRegressor(random_state=SEED), {
        "n_estimators": [50, 100, 150], "max_features": [1.0, "sqrt", "log2"], "max_depth": [50, 100, 150],
    }),
    (MLPRegressor(random_state=SEED), {
        "solver": ["lbfgs", "adam", "sgd"], "activation": ["logistic", "relu"], "max_iter": [5_000, 10_000, 20_000],
        "learning_rate_init": [0.01, 0.05], "hidden_layer_sizes": [(50,), (100,), (150,)],
    }),
]


def select(features, target, jobs, timed):
    searches = []
    for model, grid in GRIDS:
        started = time.perf_counter()
        search = GridSearchCV(model, grid, scoring="neg_mean_squared_error", cv=LeaveOneOut(), n_jobs=jobs)
        searches.append(search.fit(features, target))
        timed[-1][type(model).__name__] = time.perf_counter() - started
        print(timed[-1], file=sys.stderr, flush=True)
    return max(searches, key=lambda search: search.best_score_)


def transform(row, feature):
    return row[2] if feature == 2 else 1.0 / row[feature]


def scaled_times(rows, feature):
    groups = {}
    for row in rows:
        groups.setdefault(tuple(v for i, v in enumerate(row[:3]) if i != feature), []).append(row)
    pairs = [(transform(r, feature), r[3] / max(x[3] for x in g)) for g in groups.values() for r in g]
    return np.array([[x] for x, _ in pairs]), np.array([t for _, t in pairs])


def main():
    path, jobs = sys.argv[1], int(sys.argv[2])
    rows = [tuple(row) for row in np.loadtxt(path, delimiter=",", skiprows=1)]
    sampled, whole = [r for r in rows if r[2] < 1], [r for r in rows if r[2] == 1]
    chosen, effects, timed = [], [], []
    started = time.perf_counter()
    for feature in range(3):
        timed.append({})
        best = select(*scaled_times(sampled, feature), jobs, timed)
        effects.append(best)
        chosen.append({"technique": str(best.best_estimator_), "loo_mse": -best.best_score_})

    def product(rows):
        columns = [effect.predict([[transform(r, i)] for r in rows]) for i, effect in enumerate(effects)]
        return np.prod(columns, axis=0)[:, None]

    longest = max(r[3] for r in sampled)
    timed.append({})
    level2 = select(product(sampled), np.array([r[3] / longest for r in sampled]), jobs, timed)
    chosen.append({"technique": str(level2.best_estimator_), "loo_mse": -level2.best_score_})
    secs = time.perf_counter() - started
    predicted = level2.predict(product(whole)) * longest
    mape = 100 * float(np.mean([abs(r[3] - p) / r[3] for r, p in zip(whole, predicted)]))
    print(json.dumps({
        "scikit_learn": sklearn.__version__, "secs": secs, "mape_percent": mape, "chosen": chosen, "secs_by_place": timed,
    }))


if __name__ == "__main__":
    main()
