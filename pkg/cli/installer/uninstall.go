package installer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

// Removal is what is deleted with an operator that is installed, and what stays.
func (c *Installer) Removal(ctx context.Context, i Installation, definitions bool) (deploy.Removal, error) {
	objects, stored, err := c.countObjects(ctx, i)
	if err != nil {
		return deploy.Removal{}, err
	}
	record, err := c.records.of(ctx, i)
	if err != nil {
		return deploy.Removal{}, err
	}
	others, err := c.otherCSVs(ctx, i, record)
	if err != nil {
		return deploy.Removal{}, err
	}
	if err := deploy.CheckRemoval(record, i.Bundle.CSV.Name, i.Namespace()); err != nil {
		return deploy.Removal{}, err
	}
	a, err := c.applier(ctx)
	if err != nil {
		return deploy.Removal{}, err
	}
	live := func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		served, err := a.inServedVersion(ctx, o)
		if err != nil || served == nil {
			return nil, err
		}
		return a.live(ctx, served)
	}
	var kept []string
	for _, o := range i.Manifests {
		if !definitions || i.definition(o) == nil {
			continue
		}
		crd, err := live(o)
		if err != nil {
			return deploy.Removal{}, err
		}
		if crd != nil && !record.Removes(o, crd, i.Adopted) {
			delete(objects, o.GetName()) // It is not deleted, and neither are they.
			kept = append(kept, record.KeptMessage(o, crd))
		}
	}
	removal := deploy.NewRemoval(i.Manifests, objects, stored, others, definitions)
	removal.Messages, removal.KeptDefinitions = append(removal.Messages, kept...), kept
	earlier, err := c.records.others(ctx, i)
	if err != nil {
		return deploy.Removal{}, err
	}
	return removal, removal.Restrict(record, slices.Collect(maps.Values(earlier)), i.Adopted, live)
}

// otherCSVs omits previous versions of the operator: they are deleted as well.
func (c *Installer) otherCSVs(ctx context.Context, i Installation, record deploy.Record) (names []string, err error) {
	others, err := c.Others(ctx, i.Namespace(), i.Bundle.CSV.Name)
	for _, other := range others {
		if !record.Created(deploy.CSVObject(&other)) {
			names = append(names, other.Name)
		}
	}
	return names, err
}

// countObjects counts the objects of each definition. For a definition with several versions, stored is in which
// of them its objects are stored.
func (c *Installer) countObjects(ctx context.Context, i Installation) (counts map[string]deploy.ObjectCounts, stored map[string]string, err error) {
	counts, stored = map[string]deploy.ObjectCounts{}, map[string]string{}
	for _, crd := range i.Bundle.CRDs() {
		live, err := c.definitions.get(ctx, crd.Name)
		if err != nil {
			return nil, nil, err
		}
		if live == nil {
			continue
		}
		if len(live.Spec.Versions) > 1 {
			stored[crd.Name] = storedversions.Describe(live)
		}
		if !apihelpers.IsCRDConditionTrue(live, apiextensionsv1.Established) {
			counts[crd.Name] = deploy.ObjectCounts{} // It was never served: it has no objects.
			continue
		}
		counts[crd.Name] = nil
		version := storedversions.Readable(live)
		if version == "" {
			continue
		}
		population, err := count(ctx, c.Metadata.Resource(resourceOf(live, version)))
		switch {
		case err == nil:
			counts[crd.Name] = population
		case apierrors.IsInternalError(err): // A conversion that fails does not block the deletion of its operator.
		case apierrors.IsNotFound(err): // Nor does a version that is served in a moment.
		default:
			return nil, nil, err
		}
	}
	return counts, stored, nil
}

const countPage = 500

func count(ctx context.Context, resource metadata.Getter) (deploy.ObjectCounts, error) {
	population := deploy.ObjectCounts{}
	page := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return resource.List(ctx, options)
	})
	page.PageSize = countPage
	err := page.EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		population[o.(*metav1.PartialObjectMetadata).Namespace]++
		return nil
	})
	return population, err
}

// CheckRemoval refuses a removal if none of the objects to delete exists, and the record has none of them.
func CheckRemoval(i Installation, removal deploy.Removal) error {
	if len(removal.Delete) > 0 || removal.StaleRecord {
		return nil
	}
	text := fmt.Sprintf("%s is not installed in namespace %s, and nothing is left to remove", i.Bundle.CSV.Name, i.Namespace())
	return errors.New(strings.Join(append([]string{text}, removal.KeptDefinitions...), "\n"))
}

// Uninstall deletes each object after the previous one no longer exists, and returns the existing ones. It deletes nothing if
// the user may not delete everything: the operator would be lost, and the rest would stay.
func (c *Installer) Uninstall(ctx context.Context, i Installation, agreed ConfirmedRemoval) ([]*unstructured.Unstructured, error) {
	removal := agreed.removal
	a, err := c.applier(ctx)
	if err != nil {
		return nil, err
	}
	refused, err := c.unremovable(ctx, a, i, removal, removal.Delete)
	switch {
	case ctx.Err() != nil:
		return nil, ErrInterrupted
	case err != nil:
		return nil, err
	case len(refused) > 0:
		return nil, fmt.Errorf("nothing was deleted:\n%w", errors.Join(refused...))
	}
	var removed []*unstructured.Unstructured
	for _, o := range removal.Delete {
		there, err := c.delete(ctx, a, i, o)
		if err != nil {
			if ctx.Err() != nil {
				err = ErrInterrupted
			}
			return removed, err
		}
		if there {
			removed = append(removed, o)
		}
	}
	return removed, c.records.removeFromAll(ctx, i, removal, removed)
}

// unremovable returns which objects the user may not delete, and which records the user may not update afterwards.
func (c *Installer) unremovable(ctx context.Context, a applier, i Installation, removal deploy.Removal, objects []*unstructured.Unstructured) ([]error, error) {
	records, err := c.records.after(ctx, i, removal, removal.Delete)
	if err != nil {
		return nil, err
	}
	return a.undeletable(ctx, objects, records)
}

func (c *Installer) delete(ctx context.Context, a applier, i Installation, o *unstructured.Unstructured) (there bool, err error) {
	served, err := a.inServedVersion(ctx, o)
	if err != nil || served == nil {
		return false, err
	}
	client, err := a.clientFor(ctx, served)
	if err != nil {
		return false, err
	}
	err = client.Delete(ctx, o.GetName(), deleteOptions(o))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", deploy.Title(o), err)
	}
	if err := (pendingDeletion{c}).wait(ctx, client, i, o); err != nil {
		return true, err
	}
	i.Print("removed %s", deploy.Title(o))
	return true, nil
}

// deleteOptions deletes the object that was decided about, and none that has its name since.
func deleteOptions(o *unstructured.Unstructured, dryRun ...string) metav1.DeleteOptions {
	uid := o.GetUID()
	return metav1.DeleteOptions{DryRun: dryRun, Preconditions: &metav1.Preconditions{UID: &uid}}
}
