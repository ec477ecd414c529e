"""Functions that only the benchmarks serve, loaded from their source files by functions-framework."""
