"""The version of the library, as it is written into its files and pages."""

VERSION = "0.1.0"
