package wellknown

// Annotations about the availability of the Deployments that serve webhooks. They belong in spec.config.annotations of the
// Subscription. Those of the ClusterServiceVersion apply only if it has no Subscription.
const (
	// AnnotationAvailabilityReplicas is the number of replicas of a Deployment that serves webhooks when it is created,
	// instead of the number of the ClusterServiceVersion. More than one needs an operator that elects a leader.
	AnnotationAvailabilityReplicas = "olm-webhook-manager.io/availability-replicas"

	// AnnotationAvailabilitySpread lists topology keys over which the pods of a Deployment that serves webhooks are spread,
	// separated by commas: the key, which is a preference of the scheduler, or key=DoNotSchedule.
	AnnotationAvailabilitySpread = "olm-webhook-manager.io/availability-spread"

	// AnnotationAvailabilityPriorityClass is the name of the PriorityClass of the pods of Deployments that serve webhooks.
	AnnotationAvailabilityPriorityClass = "olm-webhook-manager.io/availability-priority-class"

	// AnnotationAvailabilityBudget is the limit of the PodDisruptionBudget of each Deployment that serves webhooks:
	// maxUnavailable or minAvailable, "=", and a number of pods or a percentage, such as maxUnavailable=1.
	AnnotationAvailabilityBudget = "olm-webhook-manager.io/availability-disruption-budget"
)

// AnnotationBudgetFor, on a PodDisruptionBudget of the manager, is the name of the Deployment. A bundle's own budgets, which
// have the same owner, do not have it.
const AnnotationBudgetFor = "olm-webhook-manager.io/budget-for"

// AnnotationLeaderElection, on a ClusterServiceVersion or in the config of its Subscription, is "true" if the operator elects
// a leader, so that several replicas may run, and "false" if it does not. The config of the Subscription wins.
const AnnotationLeaderElection = "olm-webhook-manager.io/leader-election"
