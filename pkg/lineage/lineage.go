// Package lineage decides which ClusterServiceVersions are versions of one operator, and which is active. It is pure.
package lineage

import (
	"fmt"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Namespace is how to find the ClusterServiceVersions of one namespace.
type Namespace struct {
	// Named is the one of that name; nil when there is none.
	Named func(name string) *operatorsv1alpha1.ClusterServiceVersion
	// Replacing are the versions that replace the one of that name (see Replaced).
	Replacing func(name string) []*operatorsv1alpha1.ClusterServiceVersion
	// TookFrom returns the versions that still own a Deployment which this one has adopted.
	TookFrom func(csv *operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion
	// TakenBy returns the versions that have adopted a Deployment which this one still owns.
	TakenBy func(csv *operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion
}

// Lineage has the other versions of an operator. One that is being deleted counts until it is deleted.
type Lineage struct {
	// Older are the versions that it replaces, directly or through others, the nearest first.
	Older []*operatorsv1alpha1.ClusterServiceVersion
	// Newer are the versions that replace it, likewise.
	Newer []*operatorsv1alpha1.ClusterServiceVersion
}

// Of uses spec.replaces and spec.skips, and the owners of Deployments: a version between two others may be
// deleted, or spec.replaces edited after the upgrade has begun. The owners do not count between versions that
// replace each other the other way round: an upgrade that is undone gives Deployments back. They do not
// count either while another version names the older one in spec.replaces or spec.skips: its phase then
// belongs to that upgrade and proves no other one. A version that replaces the newer one is no other.
func Of(csv *operatorsv1alpha1.ClusterServiceVersion, in Namespace) Lineage {
	named := func(c *operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion {
		return lists.FilterMap(Replaced(c), func(name string) (*operatorsv1alpha1.ClusterServiceVersion, bool) {
			older := in.Named(name)
			return older, older != nil
		})
	}
	untied := func(older, newer *operatorsv1alpha1.ClusterServiceVersion) bool {
		return replaces(older, newer) || slices.ContainsFunc(in.Replacing(older.Name), func(c *operatorsv1alpha1.ClusterServiceVersion) bool {
			return !c.IsCopied() && c.Name != newer.Name && !slices.ContainsFunc(follow(c, named), func(c *operatorsv1alpha1.ClusterServiceVersion) bool { return c.Name == newer.Name })
		})
	}
	older := func(c *operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion {
		return append(named(c), slices.DeleteFunc(in.TookFrom(c), func(other *operatorsv1alpha1.ClusterServiceVersion) bool { return untied(other, c) })...)
	}
	newer := func(c *operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion {
		return append(in.Replacing(c.Name), slices.DeleteFunc(in.TakenBy(c), func(other *operatorsv1alpha1.ClusterServiceVersion) bool { return untied(c, other) })...)
	}
	return Lineage{Older: follow(csv, older), Newer: follow(csv, newer)}
}

// Replaced includes skipped versions. Only a catalog writes these into spec.replaces.
func Replaced(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	names := append([]string{csv.Spec.Replaces}, csv.Spec.Skips...)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" || name == csv.Name })
}

// Siblings returns the other versions that replace, directly or through others, a version which this one replaces, and which may not
// exist any more: an upgrade to one of them may have been undone. They are neither older nor newer.
func Siblings(csv *operatorsv1alpha1.ClusterServiceVersion, l Lineage, in Namespace) []*operatorsv1alpha1.ClusterServiceVersion {
	names := Replaced(csv)
	for _, older := range l.Older {
		names = append(names, older.Name)
	}
	replacing := func(c *operatorsv1alpha1.ClusterServiceVersion) (all []*operatorsv1alpha1.ClusterServiceVersion) {
		if c != csv {
			return in.Replacing(c.Name)
		}
		for _, name := range names {
			all = append(all, in.Replacing(name)...)
		}
		return all
	}
	relatives := slices.Concat(l.Older, l.Newer)
	return slices.DeleteFunc(follow(csv, replacing), func(c *operatorsv1alpha1.ClusterServiceVersion) bool {
		return slices.ContainsFunc(relatives, func(relative *operatorsv1alpha1.ClusterServiceVersion) bool { return relative.Name == c.Name })
	})
}

// follow returns the versions that next leads to, directly and through others, each once.
func follow(from *operatorsv1alpha1.ClusterServiceVersion, next func(*operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion {
	seen := map[string]bool{from.Name: true}
	var all []*operatorsv1alpha1.ClusterServiceVersion
	for queue := next(from); len(queue) > 0; queue = queue[1:] {
		if c := queue[0]; !seen[c.Name] && !c.IsCopied() {
			seen[c.Name] = true
			all = append(all, c)
			queue = append(queue, next(c)...)
		}
	}
	return all
}

// Began reports whether a version has begun to install itself, and other versions do not modify it any more.
func Began(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.Contains(begunPhases, csv.Status.Phase) || slices.Contains(begunReasons, csv.Status.Reason)
}

var (
	begunPhases = []operatorsv1alpha1.ClusterServiceVersionPhase{
		operatorsv1alpha1.CSVPhaseInstallReady, operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVPhaseSucceeded,
		operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVPhaseDeleting,
	}
	begunReasons = []operatorsv1alpha1.ConditionReason{
		operatorsv1alpha1.CSVReasonNeedsReinstall, operatorsv1alpha1.CSVReasonComponentFailed,
		operatorsv1alpha1.CSVReasonInstallCheckFailed, operatorsv1alpha1.CSVReasonComponentUnhealthy,
	}
)

// Superseded reports whether a newer version has been installed. Older ones then adopt nothing.
func (l Lineage) Superseded() bool {
	return slices.ContainsFunc(l.Newer, func(c *operatorsv1alpha1.ClusterServiceVersion) bool {
		return c.DeletionTimestamp == nil && c.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded
	})
}

// Successor returns the nearest older version that was installed, which adopts the objects, or nil.
func (l Lineage) Successor(installed func(*operatorsv1alpha1.ClusterServiceVersion) bool) *operatorsv1alpha1.ClusterServiceVersion {
	return lists.First(l.Older, func(c *operatorsv1alpha1.ClusterServiceVersion) bool {
		return c.DeletionTimestamp == nil && installed(c)
	})
}

// Alone reports whether there is no other version.
func (l Lineage) Alone() bool { return len(l.Older) == 0 && len(l.Newer) == 0 }

// NotReady returns which version cannot be replaced yet, and why. As under OLM v0, a version that was never
// installed is not replaced, unless the group's upgradeStrategy lets failed ones be.
func NotReady(csv *operatorsv1alpha1.ClusterServiceVersion, l Lineage) string {
	for _, older := range l.Older {
		if older.DeletionTimestamp != nil || !replaces(csv, older) {
			continue
		}
		switch phase := older.Status.Phase; phase {
		case operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVPhaseDeleting, operatorsv1alpha1.CSVPhaseSucceeded:
		case operatorsv1alpha1.CSVPhaseFailed:
			return fmt.Sprintf("%s, which it replaces, has failed (%s): repair or delete that one, or set spec.upgradeStrategy of the OperatorGroup to TechPreviewUnsafeFailForward",
				older.Name, older.Status.Reason)
		default:
			return fmt.Sprintf("%s, which it replaces, is not installed yet", older.Name)
		}
	}
	return ""
}

// Announced reports whether all replaced versions have announced that.
func Announced(csv *operatorsv1alpha1.ClusterServiceVersion, l Lineage) bool {
	return !slices.ContainsFunc(l.Older, func(older *operatorsv1alpha1.ClusterServiceVersion) bool {
		phase := older.Status.Phase
		return older.DeletionTimestamp == nil && replaces(csv, older) && phase != operatorsv1alpha1.CSVPhaseReplacing && phase != operatorsv1alpha1.CSVPhaseDeleting
	})
}

func replaces(newer, older *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.Contains(Replaced(newer), older.Name)
}
