package forms

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Stage is a form with the objects of one operator in it.
type Stage struct {
	Name    string
	Objects []unstructured.Unstructured
}

const missing = "–"

// Table returns a Markdown table of the fields that differ between the stages, object by object. Values differ in each run, so
// it numbers the values of a row. Generated parts of names, and the namespace, are left out.
func Table(namespace string, stages ...Stage) string {
	var table strings.Builder
	line := func(cells ...string) { fmt.Fprintf(&table, "| %s |\n", strings.Join(cells, " | ")) }
	header := []string{"object", "field"}
	for _, s := range stages {
		header = append(header, s.Name)
	}
	line(header...)
	fmt.Fprintf(&table, "|%s\n", strings.Repeat("---|", len(header)))
	forms := map[string][]map[string]string{} // by object, for each stage
	for i, s := range stages {
		for _, o := range s.Objects {
			name := title(namespace, &o)
			if forms[name] == nil {
				forms[name] = make([]map[string]string, len(stages))
			}
			forms[name][i] = fieldsOf(&o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(forms)) {
		for _, row := range rows(forms[name]) {
			line(append([]string{name, strings.ReplaceAll(row[0], namespace, "NAMESPACE")}, row[1:]...)...)
		}
	}
	return table.String()
}

// title returns the kind and the name of an object. The API server generates the end of the names of webhook configurations.
func title(namespace string, o *unstructured.Unstructured) string {
	name := o.GetName()
	if generated := o.GetLabels()[wellknown.LabelWebhookGenerateName]; generated != "" {
		name = generated
	}
	return strings.ReplaceAll(o.GetKind()+" "+name, namespace, "NAMESPACE")
}

// rows returns the fields that differ, with the number of the value in each stage. If none differs, all fields are one row.
func rows(stages []map[string]string) (all [][]string) {
	paths := map[string]bool{}
	for _, fields := range stages {
		for path := range fields {
			paths[path] = true
		}
	}
	if i := slices.IndexFunc(stages, func(fields map[string]string) bool { return fields == nil }); i >= 0 {
		row := []string{"the object"}
		for _, fields := range stages {
			row = append(row, number(fields != nil))
		}
		return [][]string{row}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if row, differs := numbered(path, stages); differs {
			all = append(all, row)
		}
	}
	if len(all) == 0 {
		row := []string{"all fields"}
		for range stages {
			row = append(row, "1")
		}
		all = append(all, row)
	}
	return all
}

func number(exists bool) string {
	if exists {
		return "1"
	}
	return missing
}

func numbered(path string, stages []map[string]string) (row []string, differs bool) {
	row = []string{"`" + path + "`"}
	var values []string
	for _, fields := range stages {
		value, exists := fields[path]
		if !exists {
			row = append(row, missing)
			continue
		}
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
		row = append(row, fmt.Sprint(slices.Index(values, value)+1))
	}
	return row, len(values) > 1 || slices.Contains(row[1:], missing)
}
