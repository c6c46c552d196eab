package csvstatus

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Requirements that fit stay as they are; of more, the unmet ones come first, one that is
// larger than all of the status may be is left out, and the rest fits.
func TestRequirements(t *testing.T) {
	const present, missing = operatorsv1alpha1.RequirementStatusReasonPresent, operatorsv1alpha1.RequirementStatusReasonNotPresent
	requirement := func(i int, status operatorsv1alpha1.StatusReason) operatorsv1alpha1.RequirementStatus {
		return operatorsv1alpha1.RequirementStatus{Kind: "CustomResourceDefinition", Name: fmt.Sprint(i), Status: status, Message: strings.Repeat("m", 100)}
	}
	few := []operatorsv1alpha1.RequirementStatus{requirement(0, present), requirement(1, missing), requirement(2, present)}
	if told := Requirements(few); !slices.EqualFunc(told, few, func(a, b operatorsv1alpha1.RequirementStatus) bool { return a.Name == b.Name }) {
		t.Errorf("few: %v", told)
	}

	var many []operatorsv1alpha1.RequirementStatus
	for i := range 5000 {
		many = append(many, requirement(i, present))
	}
	huge := requirement(5000, missing)
	huge.Dependents = []operatorsv1alpha1.DependentStatus{{Message: strings.Repeat("m", maxRequirements)}}
	told := Requirements(append(many, huge, requirement(5001, missing)))
	if told[0].Name != "5001" || told[1].Name != "0" || slices.ContainsFunc(told, func(r operatorsv1alpha1.RequirementStatus) bool { return r.Name == huge.Name }) {
		t.Errorf("many: begin with %s and %s", told[0].Name, told[1].Name)
	}
	size := 0
	for _, r := range told {
		size += sizeOf(r)
	}
	if size > maxRequirements || size < maxRequirements/2 {
		t.Errorf("many: %d bytes in %d results", size, len(told))
	}
}
