package installer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
)

// CompleteUpgrade completes the options by what the replaced version was installed with. For kept see CompleteGroup.
// A version of an unknown package is replaced if it is adopted.
func (c *Installer) CompleteUpgrade(ctx context.Context, b *bundle.Bundle, o *bundle.Options, adopted ...string) (kept string, err error) {
	before := lineage.Replaced(b.CSV)
	// The bundle's own is what there is where an upgrade was interrupted after that one went.
	found, err := c.operators.versions(ctx, o.Namespace, append(before, b.CSV.Name))
	if err != nil {
		return "", err
	}
	switch {
	case len(found) == 0 && len(before) == 0:
		return "", fmt.Errorf("%s replaces no other version: if a version is installed, write its name into spec.replaces of the ClusterServiceVersion; otherwise use bundle install", b.CSV.Name)
	case len(found) == 0:
		return "", fmt.Errorf("%s replaces %s, which is not installed: install the bundle of that version first, or install this one with bundle install",
			b.CSV.Name, strings.Join(before, ", "))
	}
	chosen := o.Watch
	replaced, err := c.installed(ctx, found)
	if err != nil {
		return "", err
	}
	if err := deploy.CheckUpgrade(b.CSV, b.RecordedPackage(), replaced, adopted); err != nil {
		return "", err
	}
	if err := c.installedWith(ctx, found, b, o); err != nil {
		return "", err
	}
	o.Watch = chosen
	return c.CompleteGroup(ctx, b, o)
}

// CompleteGroup completes the options by the existing group in their namespace. Kept is the message that it is kept.
// It refuses options by which other operators there would change.
func (c *Installer) CompleteGroup(ctx context.Context, b *bundle.Bundle, o *bundle.Options) (kept string, err error) {
	namespace := cmp.Or(o.Namespace, b.SuggestedNamespace())
	groups, err := c.operators.operatorGroups(ctx, namespace)
	if err != nil {
		return "", err
	}
	all, err := c.Others(ctx, namespace, b.CSV.Name)
	if err != nil {
		return "", err
	}
	others := lists.FilterMap(all, func(other operatorsv1alpha1.ClusterServiceVersion) (string, bool) {
		return other.Name, !related(b.CSV, &other)
	})
	o.Watch, kept, err = deploy.Watched(groups, o.Watch, others)
	return kept, err
}

func related(a, b *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.Contains(lineage.Replaced(a), b.Name) || slices.Contains(lineage.Replaced(b), a.Name)
}

// CompleteUninstall completes the options by what the bundle was installed with. Its Subscription is deleted last, and
// its namespace is used if the rest is deleted already.
func (c *Installer) CompleteUninstall(ctx context.Context, b *bundle.Bundle, o *bundle.Options) (kept string, err error) {
	found, err := c.operators.versions(ctx, o.Namespace, []string{b.CSV.Name})
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return "", c.installedWith(ctx, found, b, o)
	}
	if o.Namespace == "" {
		if o.Namespace, err = c.operators.subscriptionNamespace(ctx, b); err != nil {
			return "", err
		}
	}
	others, err := c.Others(ctx, o.Namespace, b.CSV.Name)
	if err != nil {
		return "", err
	}
	for _, other := range others {
		if !related(b.CSV, &other) {
			continue
		}
		record, err := c.records.get(ctx, b.RecordedPackage(), other.Namespace)
		if err != nil {
			return "", err
		}
		if !record.Has(b.CSV.Name) { // else the upgrade to it was interrupted
			return "", fmt.Errorf("%s is not installed in namespace %s, but %s is: remove that with its own bundle", b.CSV.Name, other.Namespace, other.Name)
		}
		o.Namespace = other.Namespace
	}
	if o.Namespace == "" {
		return "", fmt.Errorf("%s is not installed; name the namespace of what may be left of it with -n", b.CSV.Name)
	}
	return "", c.completeFromInstalled(ctx, b, o)
}

func (r operatorReader) subscriptionNamespace(ctx context.Context, b *bundle.Bundle) (namespace string, err error) {
	subscriptions, err := r.subscriptions(ctx, metav1.NamespaceAll)
	if err != nil {
		return "", err
	}
	for _, s := range subscriptions {
		switch {
		case s.Spec == nil || s.Spec.Package != b.RecordedPackage() || s.Spec.StartingCSV != b.CSV.Name && s.Status.InstalledCSV != b.CSV.Name:
		case namespace == "":
			namespace = s.Namespace
		case namespace != s.Namespace:
			return "", fmt.Errorf("%s is not installed, and Subscriptions for it are left in the namespaces %s and %s: select one with -n", b.CSV.Name, namespace, s.Namespace)
		}
	}
	return namespace, nil
}

func (c *Installer) installedWith(ctx context.Context, found []operatorsv1alpha1.ClusterServiceVersion, b *bundle.Bundle, o *bundle.Options) error {
	for _, other := range found[1:] {
		if other.Namespace != found[0].Namespace {
			return fmt.Errorf("%s is installed in the namespaces %s and %s: select one with -n", found[0].Name, found[0].Namespace, other.Namespace)
		}
	}
	o.Namespace = found[0].Namespace
	return c.completeFromInstalled(ctx, b, o)
}

func (c *Installer) completeFromInstalled(ctx context.Context, b *bundle.Bundle, o *bundle.Options) error {
	if o.Watch == nil {
		groups, err := c.operators.operatorGroups(ctx, o.Namespace)
		if err != nil {
			return err
		}
		for _, group := range groups {
			o.Watch = deploy.Targets(group)
		}
	}
	if o.Config != nil || o.Removal {
		return nil
	}
	subscriptions, err := c.operators.subscriptions(ctx, o.Namespace)
	for _, s := range subscriptions {
		if s.Spec != nil && s.Spec.Package == b.RecordedPackage() {
			if o.Config, err = deploy.OwnConfig(&s); err != nil {
				return err
			}
		}
	}
	return err
}

// UseExistingNames sets the names of the existing group and Subscription: a second group would fail every operator
// there, and a second Subscription would be ignored.
func (c *Installer) UseExistingNames(ctx context.Context, i Installation) error {
	groups, err := c.operators.operatorGroups(ctx, i.Namespace())
	if err != nil {
		return err
	}
	subscriptions, err := c.operators.subscriptions(ctx, i.Namespace())
	if err != nil {
		return err
	}
	for _, o := range i.Manifests {
		switch groupkind.Of(o) {
		case groupkind.OperatorGroup:
			deploy.AdoptGroup(o, groups)
		case groupkind.Subscription:
			deploy.AdoptSubscription(o, subscriptions, i.Bundle.RecordedPackage())
		}
	}
	return nil
}

// CompleteInstall completes the options as CompleteGroup does. It refuses another version of the same operator.
func (c *Installer) CompleteInstall(ctx context.Context, b *bundle.Bundle, o *bundle.Options) (kept string, err error) {
	if o.Namespace == "" {
		if err := c.checkSuggested(ctx, b.SuggestedNamespace()); err != nil {
			return "", err
		}
	}
	others, err := c.Others(ctx, cmp.Or(o.Namespace, b.SuggestedNamespace()), b.CSV.Name)
	if err != nil {
		return "", err
	}
	there, err := c.installed(ctx, others)
	if err != nil {
		return "", err
	}
	if err := deploy.CheckInstall(b.CSV, b.RecordedPackage(), there); err != nil {
		return "", err
	}
	return c.CompleteGroup(ctx, b, o)
}

func (c *Installer) installed(ctx context.Context, csvs []operatorsv1alpha1.ClusterServiceVersion) ([]deploy.Installed, error) {
	var all []deploy.Installed
	for n := range csvs {
		csv := &csvs[n]
		subscriptions, err := c.operators.subscriptions(ctx, csv.Namespace)
		if err != nil {
			return nil, err
		}
		records, err := c.records.list(ctx, csv.Namespace)
		if err != nil {
			return nil, err
		}
		installed := deploy.Installed{CSV: csv}
		for _, s := range subscriptions {
			if s.Spec != nil && (s.Spec.StartingCSV == csv.Name || s.Status.InstalledCSV == csv.Name) {
				installed.Package = s.Spec.Package
			}
		}
		for packageName, record := range records {
			if record.Has(csv.Name) || record.Contains(deploy.CSVObject(csv)) {
				installed.Package = packageName
			}
		}
		all = append(all, installed)
	}
	return all, nil
}

// Others are the ClusterServiceVersions of a namespace but the one of that name, and copies.
func (c *Installer) Others(ctx context.Context, namespace, name string) ([]operatorsv1alpha1.ClusterServiceVersion, error) {
	csvs, err := c.operators.csvs(ctx, namespace)
	return slices.DeleteFunc(csvs, func(csv operatorsv1alpha1.ClusterServiceVersion) bool { return csv.Name == name }), err
}
