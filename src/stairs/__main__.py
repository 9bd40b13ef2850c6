from stairs.cli import leave

leave()
