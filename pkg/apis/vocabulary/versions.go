package vocabulary

// AnnotationAwaitedVersions, on a ClusterServiceVersion, names versions of definitions, as
// definition/version and separated by commas, that whoever installs it serves once its own
// conversion webhook converts to them. Until then it is no requirement that they are served.
const AnnotationAwaitedVersions = "olm-webhook-manager.io/awaited-versions"
