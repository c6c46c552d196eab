package vocabulary

// AnnotationInstallation, on an object that bundle install creates, is the installation that created it: the
// operator's namespace and the bundle's package, as NAMESPACE/PACKAGE. An object is removed only when both it
// and the record of the installation say so (see deploy.Record).
const AnnotationInstallation = "olm-webhook-manager.io/installation"
