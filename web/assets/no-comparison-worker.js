// Replaces comparison-worker.js in a build without the comparison of all learners.
self.postMessage("this build of the planner has no comparison of all learners; `make build` makes one that has");
