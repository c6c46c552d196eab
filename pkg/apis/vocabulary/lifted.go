package vocabulary

// LabelLifted is "true" on the roles and bindings by which permissions of a
// ClusterServiceVersion are granted outside of its namespace.
const LabelLifted = "olm-webhook-manager.io/lifted"
