// Package wellknown names the labels, annotations, finalizers, field managers, Secret keys and
// mount points that the manager writes into a cluster and reads from it. They are an interface:
// bundles, scripts and dashboards rely on each of them.
package wellknown

// FieldManager is the name under which the manager owns fields in server-side apply,
// and the name that managedFields shows for its other writes.
const FieldManager = "olm-webhook-manager"

// FieldManagerOwnerReferences is the name under which the manager makes a CustomResourceDefinition
// an owner of the objects that serve its conversion webhook.
const FieldManagerOwnerReferences = "olm-webhook-manager-owner-references"

// FieldManagerComponents is the name under which the manager labels the components of an Operator.
// Writes of other fields do not remove these labels.
const FieldManagerComponents = "olm-webhook-manager-components"

// FinalizerCSV keeps a ClusterServiceVersion until its cluster-scoped objects are deleted.
const FinalizerCSV = "operators.coreos.com/csv-cleanup"

// EnvOperatorConditionName is the environment variable with the name of an operator's
// OperatorCondition, which is the name of its ClusterServiceVersion.
const EnvOperatorConditionName = "OPERATOR_CONDITION_NAME"
