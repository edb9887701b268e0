#!/bin/sh
# Writes the event logs of this folder with real Spark versions: make.sh PYSPARK35 PYSPARK4, where
# the arguments are virtual environments with pyspark 3.5.9 and 4.1.4. Applications run on two
# executors of two cores, each in its own process (local-cluster).
#
# One edit: "Classpath Entries" of the plain log, the names of 300 jars, is emptied.
set -eu
pyspark35=$1
pyspark4=$2
here=$(cd "$(dirname "$0")" && pwd)
# The logs contain the name of this folder, so it must not reveal anything about the machine.
work=/tmp/foreglow-event-logs
mkdir "$work"
cp "$here/application.py" "$work"
cd "$work"
export SPARK_LOCAL_IP=127.0.0.1 MARKERS="$work" PYTHONHASHSEED=0

# submit VENV APPLICATION CONF...
submit() {
    venv=$1 application=$2
    shift 2
    rm -rf "$work/out"
    mkdir "$work/out"
    labels=""
    for label in model=resnet18 mode=inference image_px=64 images=120 batch_size=8 partition_size=10; do
        labels="$labels --conf spark.foreglow.$label"
    done
    PYSPARK_PYTHON="$venv/bin/python" "$venv/bin/spark-submit" --master "${MASTER:-local-cluster[2,2,1024]}" \
        --conf spark.executor.memory=512m --conf spark.driver.memory=512m --conf spark.ui.enabled=false \
        --conf spark.eventLog.enabled=true --conf "spark.eventLog.dir=file://$work/out" \
        --conf spark.eventLog.logStageExecutorMetrics=false $labels "$@" application.py "$application" \
        >"$work/log" 2>&1 || { tail -30 "$work/log" >&2; exit 1; }
}

# keep NAME: stores the only log of the application under this name.
keep() {
    rm -rf "${here:?}/$1"
    for log in out/*; do chmod -R u=rwX,go=rX "$log" && mv "$log" "$here/$1"; done
    find "$here" -name '.*.crc' -delete
}

if [ -z "${ONLY:-}" ] || [ "$ONLY" = codecs ]; then
    submit "$pyspark35" measured --conf spark.eventLog.compress=false
    keep 3.5-measured
    sed -i 's/"Classpath Entries":{[^}]*}/"Classpath Entries":{}/' "$here/3.5-measured"
    for codec in zstd lz4 snappy lzf; do
        submit "$pyspark35" measured --conf spark.eventLog.compress=true --conf "spark.eventLog.compression.codec=$codec"
        keep "3.5-measured.$codec"
    done
    submit "$pyspark4" measured
    keep 4.1-measured
fi
for application in stages parallel short killed failed barrier; do
    if [ -z "${ONLY:-}" ] || [ "$ONLY" = "$application" ]; then
        submit "$pyspark4" "$application" --conf spark.eventLog.rolling.enabled=false
        keep "4.1-$application.zstd"
    fi
done
rm -rf "$work"
