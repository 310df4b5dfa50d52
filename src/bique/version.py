"""The version, alone: the build reads it without importing torch."""

VERSION = "0.1.0"
