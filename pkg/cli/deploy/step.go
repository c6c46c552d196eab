package deploy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
)

// Action is what an installation does to one object.
type Action string

const (
	// Create is for an object that does not exist.
	Create Action = "create"
	// Update is for an object that the installation has created or changed before.
	Update Action = "update"
	// Keep is for an object of another owner that is as the bundle has it: it is not written.
	Keep Action = "keep"
	// Overwrite is for an object that would change and is another owner's, or has fields that another client
	// has set since the installation wrote them: it has to be adopted.
	Overwrite Action = "overwrite"
)

// Step is an object of an installation and what is done to it.
type Step struct {
	Object *unstructured.Unstructured
	Live   *unstructured.Unstructured
	Action Action
	// Contested is set if another client has set fields of the object since the installation wrote them.
	Contested bool
	// Unchecked is why the object could not be dry-run; empty if it could.
	Unchecked string
	Changed   []string
	// KeptConversion is the message about a live conversion that the bundle does not have; empty for none.
	KeptConversion string
}

// StepOf decides about one object. answered is the result of a dry run; nil if there was none.
func StepOf(object, live, answered *unstructured.Unstructured, r Record) Step {
	s := Step{Object: object, Live: live, Action: Create}
	if live != nil && answered != nil {
		s.Changed = changed(live, answered)
	}
	switch {
	case live == nil:
	case r.Contains(live):
		s.Action = Update
	case answered == nil || len(s.Changed) > 0:
		s.Action = Overwrite
	default:
		s.Action = Keep
	}
	return s
}

// AsContested returns the step for an object that another client has changed since the installation wrote it.
func (s Step) AsContested() Step {
	s.Action, s.Contested = Overwrite, true
	return s
}

// Outdated returns an error if the object that exists now is not the one that the administrator was shown.
func (s Step) Outdated(now *unstructured.Unstructured) error {
	const again = "it is not written; run the same command again to plan again"
	switch {
	case s.Live == nil && now != nil:
		return fmt.Errorf("%s was created by another client%s since the objects were checked: %s", Title(s.Object), writtenBy(now), again)
	case s.Live == nil:
		return nil
	case now == nil:
		return fmt.Errorf("%s was deleted by another client since the objects were checked: %s", Title(s.Object), again)
	case now.GetUID() != s.Live.GetUID():
		return fmt.Errorf("%s was replaced by another client%s since the objects were checked: %s", Title(s.Object), writtenBy(now), again)
	case s.Action != Overwrite:
		return nil
	}
	if fields := changed(s.Live, now); len(fields) > 0 {
		return fmt.Errorf("%s was changed by another client since the objects were checked (%s): %s", Title(s.Object), strings.Join(fields, ", "), again)
	}
	return nil
}

// changed returns the fields of metadata and spec, and the other top-level fields, that differ after a dry run.
func changed(live, answered *unstructured.Unstructured) []string {
	var fields []string
	compare := func(skip []string, at ...string) {
		a, _, _ := unstructured.NestedFieldNoCopy(live.Object, at...)
		b, _, _ := unstructured.NestedFieldNoCopy(answered.Object, at...)
		for key := range sets.KeySet(fieldsOf(a)).Union(sets.KeySet(fieldsOf(b))) {
			if !slices.Contains(skip, key) && !equality.Semantic.DeepEqual(fieldsOf(a)[key], fieldsOf(b)[key]) {
				fields = append(fields, strings.Join(append(slices.Clone(at), key), "."))
			}
		}
	}
	compare([]string{"metadata", "spec", "status"})
	compare(append([]string{"labels", "annotations"}, ofAPIServer...), "metadata")
	compare(nil, "metadata", "labels")
	compare(nil, "metadata", "annotations")
	compare(nil, "spec")
	slices.Sort(fields)
	return fields
}

// ofAPIServer are the fields of metadata that the API server sets at each write.
var ofAPIServer = []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"}

func fieldsOf(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

// Describe returns the change of an object that has to be adopted, and its other owners.
func (s Step) Describe() string {
	text := Title(s.Object) + " exists and was not created by this installation"
	if s.Contested {
		text = Title(s.Object) + " has changed since this installation wrote it"
	}
	text += writtenBy(s.Live)
	if len(s.Changed) > 0 {
		text += "; it would change " + strings.Join(s.values(), ", ")
	}
	return text
}

// Changes describes changes of existing objects: first permissions that the operator gets, last what stays.
func Changes(steps []Step, adopted []string) []string {
	var borrowed, overwritten, updated, kept []string
	for _, s := range steps {
		if s.Live != nil && s.Action != Update {
			borrowed = append(borrowed, s.borrowed()...)
		}
		if s.KeptConversion != "" {
			kept = append(kept, "not changed: "+s.KeptConversion)
		}
		switch {
		case s.Action == Overwrite && slices.Contains(adopted, Reference(s.Object)):
			overwritten = append(overwritten, "to be overwritten: "+s.Describe())
		case s.Action == Keep:
			kept = append(kept, fmt.Sprintf("not changed: %s exists, and is as the bundle has it", Title(s.Object)))
		case s.Action == Update && len(s.Changed) > 0:
			updated = append(updated, fmt.Sprintf("to be changed: %s: %s", Title(s.Object), strings.Join(s.values(), ", ")))
		}
	}
	return slices.Concat(borrowed, overwritten, updated, kept)
}

func (s Step) borrowed() []string {
	var gets string
	switch groupkind.Of(s.Object).String() {
	case "ServiceAccount":
		gets = "pods that use it may do all that it may do already"
	case "Secret":
		gets = "pods that mount it can read what it contains already"
	default:
		return nil
	}
	return []string{fmt.Sprintf("permissions: %s exists and was not created by this installation: %s", Title(s.Object), gets)}
}

// values returns the changed fields. Labels of a Namespace have their values: they decide what its pods may do.
func (s Step) values() []string {
	if !groupkind.Is(s.Object, groupkind.Namespace) {
		return s.Changed
	}
	values := slices.Clone(s.Changed)
	for i, field := range values {
		if label, ok := strings.CutPrefix(field, "metadata.labels."); ok {
			values[i] = fmt.Sprintf("label %s=%q", label, s.Object.GetLabels()[label])
		}
	}
	return values
}

// Unadopted returns the steps that would overwrite an object of another owner without adoption.
func Unadopted(steps []Step, adopted []string) []Step {
	return slices.DeleteFunc(slices.Clone(steps), func(s Step) bool {
		return s.Action != Overwrite || slices.Contains(adopted, Reference(s.Object))
	})
}

// CheckAdoptions returns an error for values of --adopt that name no object of an installation or removal.
func CheckAdoptions(adopted []string, objects ...[]*unstructured.Unstructured) error {
	all := slices.Concat(objects...)
	var wrong []error
	for _, reference := range adopted {
		if !slices.ContainsFunc(all, func(o *unstructured.Unstructured) bool { return Reference(o) == reference }) {
			wrong = append(wrong, fmt.Errorf("--adopt %s: the bundle has no such object; name it as KIND.GROUP/NAMESPACE/NAME, as the command without --adopt does", reference))
		}
	}
	return errors.Join(wrong...)
}
