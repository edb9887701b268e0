"""MLPerf's logger as its reference implementations use it: epochs, and a loss every 5 steps."""

import time

from mlperf_logging import mllog

logger = mllog.get_mllogger()
mllog.config(filename="mlperf.log")
logger.event(key=mllog.constants.GLOBAL_BATCH_SIZE, value=8)
logger.event(key=mllog.constants.TRAIN_SAMPLES, value=160)
logger.start(key=mllog.constants.INIT_START, value=None)
time.sleep(0.3)
logger.end(key=mllog.constants.INIT_STOP, value=None)
logger.start(key=mllog.constants.RUN_START, value=None)
for epoch in range(1, 4):
    logger.start(key=mllog.constants.EPOCH_START, value=None, metadata={"epoch_num": epoch})
    for step in range(1, 21):
        time.sleep(0.02)
        if step % 5 == 0:
            count = ((epoch - 1) * 20 + step) * 8
            logger.event(key="train_loss", value=1.0 / step, metadata={"samples_count": count})
    logger.end(key=mllog.constants.EPOCH_STOP, value=None, metadata={"epoch_num": epoch})
    logger.start(key=mllog.constants.EVAL_START, value=None, metadata={"epoch_num": epoch})
    time.sleep(0.1)
    logger.event(key=mllog.constants.EVAL_ACCURACY, value=0.3 * epoch, metadata={"epoch_num": epoch})
    logger.end(key=mllog.constants.EVAL_STOP, value=None, metadata={"epoch_num": epoch})
logger.end(key=mllog.constants.RUN_STOP, value=None, metadata={"status": "success"})
