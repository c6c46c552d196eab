package exemptions

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// ownClaims are the claims that pods share, by name: of volumes and of devices.
type ownClaims struct{ volumes, devices []string }

// add adds those of a Deployment's pods, with what the administrator mounts into them.
func (claims *ownClaims) add(pod corev1.PodSpec, config subscriptions.Config) {
	for _, volume := range slices.Concat(pod.Volumes, config.Volumes) {
		if volume.PersistentVolumeClaim != nil {
			claims.volumes = append(claims.volumes, volume.PersistentVolumeClaim.ClaimName)
		}
	}
	for _, claim := range pod.ResourceClaims {
		if claim.ResourceClaimName != nil {
			claims.devices = append(claims.devices, *claim.ResourceClaimName)
		}
	}
}

// claimExemptions are the requests that give the own pods their volumes and devices. Who binds
// and reserves is known; whose drivers provide them is not.
func (o own) claimExemptions() []Exemption {
	here := []string{o.namespace}
	return []Exemption{
		{
			Name: "own-volumes", What: "its own pods' volume claims",
			subjects: namespacedSubjects("", "persistentvolumeclaims", "status"), namespaces: here,
			which: o.claimed(o.claims.volumes), who: systemIdentities,
		}, {
			Name: "own-bound-volumes", What: "the volumes that its own pods' claims are bound to",
			subjects: clusterSubjects("", "persistentvolumes", "status"),
			which:    showing(fieldIn("o.spec.claimRef.namespace", o.namespace), given("o.spec.claimRef.name"), "o.spec.claimRef.name.matches("+strconv.Quote(o.volumeClaimNames())+")"),
			who:      userIn(controllerIdentity("persistent-volume-binder"), controllerManager, scheduler),
		}, {
			Name: "own-devices", What: "its own pods' claims of devices",
			subjects: namespacedSubjects("resource.k8s.io", "resourceclaims", "status"), namespaces: here,
			which: o.claimed(o.claims.devices), who: systemIdentities,
		},
	}
}

// claimed is true of requests about the claims that Kubernetes makes for single pods, and
// about those that the pods share.
func (o own) claimed(shared []string) string {
	if len(shared) == 0 {
		return ownedBy("Pod", o.podNames())
	}
	return anyOf(ownedBy("Pod", o.podNames()), named(shared))
}

// volumeClaimNames is what both kinds of volume claims are called: a single pod's by the names
// of the pod and of the volume.
func (o own) volumeClaimNames() string {
	names := o.podNamesWith("-[a-z0-9-]+")
	if len(o.claims.volumes) > 0 {
		names += "|" + exactly(o.claims.volumes)
	}
	return names
}
