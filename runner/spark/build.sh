#!/usr/bin/env bash
# Compiles the driver of the Spark engine into target/spark/foreglow-spark.jar, which the binary
# embeds. Without a JDK or Spark it prints a note and changes nothing: the binary then lacks only
# `collect --engine spark`.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly JAR=target/spark/foreglow-spark.jar
readonly SOURCES=(runner/spark/foreglow/*.java)

say() { printf 'spark: %s\n' "$*" >&2; }

newer() { local source; for source in "${SOURCES[@]}" "$0"; do [ "$source" -nt "$JAR" ] && return; done; return 1; }
[ -e "$JAR" ] && ! newer runner/spark/build.sh && exit

jars() {
  compgen -G "${SPARK_HOME:-/nowhere}/jars" || compgen -G 'target/pyspark/lib/python3*/site-packages/pyspark/jars' ||
    python3 -c 'import os, pyspark; print(os.path.join(os.path.dirname(pyspark.__file__), "jars"))' 2>/dev/null || true
}
SPARK=$(jars | head -n 1)
if ! command -v javac >/dev/null 2>&1 || [ ! -d "$SPARK" ]; then
  say "no JDK, or no Spark (SPARK_HOME, pyspark): the binary is built without its Spark engine. ./setup.sh spark installs both."
  exit
fi

classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
# Spark 3 runs on Java 8, and later versions run the same classes. Spark 4's classes need Java 17.
release=8
compgen -G "$SPARK/spark-core_*-3.*.jar" >/dev/null || release=17
javac -Xlint:all,-options,-classfile,-path,-processing,-deprecation -Werror --release $release -cp "$SPARK/*" -d "$classes" "${SOURCES[@]}"
mkdir -p "$(dirname "$JAR")"
jar --create --file "$JAR.new" -C "$classes" .
mv "$JAR.new" "$JAR"
