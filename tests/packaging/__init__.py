"""The build and the metadata of the package."""
