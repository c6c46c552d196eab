package controller

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
)

// keep gives what converts its keepers before anything is converted, and takes them from what
// does not convert any more. While versions stand side by side, the one that acts does it.
func (c *Controller) keep(ctx context.Context, s *gather.Snapshot) error {
	if len(s.Upgrade.From) > 0 && !s.Upgrade.Started {
		return nil
	}
	wanted := owners.DefinitionOwnersOf(s.CSV, s.Observed.Deployments, s.ServiceNames(s.CSV), s.Observed.CRDs)
	bindings := c.caches.RoleBindings.OfOwner(informers.OwnerID(s.CSV.Namespace, s.CSV.Name))
	owned := c.gather.Owned(s.CSV)
	for _, k := range owners.Kinds {
		for _, o := range owned[k] {
			references, differ := wanted.Owners(k.Name, o, bindings)
			if !differ || c.keepersHeld(s, k, o, references) {
				continue
			}
			if err := c.writer.SetOwners(ctx, k, o, references); err != nil {
				return err
			}
			c.contested.Wrote(keepersOf(k, o), keepersField(references), c.now())
		}
	}
	return nil
}

// keepersHeld reports whether the owner references of an object are left for now to another client, which changes
// them back each time.
func (c *Controller) keepersHeld(s *gather.Snapshot, k owners.Kind, o metav1.Object, references []metav1.OwnerReference) bool {
	object := keepersOf(k, o)
	held, _, _ := c.contested.Held(object, keepersField(references), c.now())
	if len(held) == 0 {
		return false
	}
	s.Observed.Contests[object.Title] = c.contested.Of(object)
	return true
}

func keepersOf(k owners.Kind, o metav1.Object) records.FieldObject {
	return records.FieldObject{Title: "Owners of " + k.Name + " " + o.GetNamespace() + "/" + o.GetName(), UID: o.GetUID()}
}

// keepersField is the field with the owner references, as fieldContests compares it.
func keepersField(references []metav1.OwnerReference) map[string]string {
	var uids []string
	for _, owner := range references {
		uids = append(uids, string(owner.UID))
	}
	slices.Sort(uids)
	return map[string]string{"metadata.ownerReferences": strings.Join(uids, " ")}
}

// keeps tells whether anything may be kept for a ClusterServiceVersion that no version of the
// operator is to take over.
func (c *Controller) keeps(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) bool {
	// A newer version that has begun may not have taken over the Deployment yet.
	if !relatives.Superseded() && slices.ContainsFunc(relatives.Newer, func(newer *operatorsv1alpha1.ClusterServiceVersion) bool {
		return newer.DeletionTimestamp == nil && owners.ConvertsLike(newer, csv)
	}) {
		return false
	}
	for _, owned := range c.gather.Owned(csv) {
		if slices.ContainsFunc(owned, owners.HasDefinitionOwner) {
			return true
		}
	}
	return owners.HasConversions(csv)
}
