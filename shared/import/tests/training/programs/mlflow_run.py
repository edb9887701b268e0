"""A run of MLflow, with the history of its loss as MLflow's server answers `metrics/get-history`."""

import time

import mlflow
from mlflow.entities import Metric
from mlflow.protos.service_pb2 import GetMetricHistory
from mlflow.utils.proto_json_utils import message_to_json

mlflow.set_tracking_uri("file:mlruns")
with mlflow.start_run() as run:
    for step in range(20):
        time.sleep(0.05)
        mlflow.log_metric("loss", 1.0 / (step + 1), step=step)
history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")
answer = GetMetricHistory.Response(metrics=[metric.to_proto() for metric in history])
with open("mlflow_history.json", "w") as file:
    file.write(message_to_json(answer))
