package exemptions

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// podClaims has the names of the claims that all pods share, for volumes and for devices.
type podClaims struct{ volumes, devices []string }

func (claims *podClaims) add(pod corev1.PodSpec, config subscriptions.Config) {
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

// The users that bind and reserve claims are known. The users of the drivers are not.
func (b backend) claimExemptions() []Exemption {
	here := []string{b.namespace}
	return []Exemption{
		{
			Name: "own-volumes", What: "its own pods' volume claims",
			subjects: namespacedSubjects("", "persistentvolumeclaims", "status"), namespaces: here,
			which: b.claimed(b.claims.volumes), who: systemIdentities,
		}, {
			Name: "own-bound-volumes", What: "the volumes that its own pods' claims are bound to",
			subjects: clusterSubjects("", "persistentvolumes", "status"),
			which:    showing(fieldIn("o.spec.claimRef.namespace", b.namespace), given("o.spec.claimRef.name"), "o.spec.claimRef.name.matches("+strconv.Quote(b.volumeClaimNames())+")"),
			who:      userIn(controllerIdentity("persistent-volume-binder"), controllerManager, scheduler),
		}, {
			Name: "own-devices", What: "its own pods' claims of devices",
			subjects: namespacedSubjects("resource.k8s.io", "resourceclaims", "status"), namespaces: here,
			which: b.claimed(b.claims.devices), who: systemIdentities,
		},
	}
}

func (b backend) claimed(shared []string) string {
	if len(shared) == 0 {
		return ownedBy("Pod", b.podNames())
	}
	return anyOf(ownedBy("Pod", b.podNames()), named(shared))
}

// The claim of a single pod has a name of the names of the pod and of the volume.
func (b backend) volumeClaimNames() string {
	names := b.podNamesWith("-[a-z0-9-]+")
	if len(b.claims.volumes) > 0 {
		names += "|" + exactly(b.claims.volumes)
	}
	return names
}
