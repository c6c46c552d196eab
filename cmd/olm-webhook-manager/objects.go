package main

import (
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// objectsFlag is -o of the commands that print, bring or take objects: as kubectl apply has it.
type objectsFlag struct{ outputFlag }

func (o *objectsFlag) add(cmd *cobra.Command, forPeople ...string) {
	o.outputFlag.add(cmd, append(forPeople, "name", "yaml", "json")...)
}

// wide is the format that tells people more.
const wide = "wide"

// tellsOn is where people are told what happens: on stderr when programs read the objects.
func (o *objectsFlag) tellsOn(cmd *cobra.Command) output.Writer {
	if o.format == "" || o.format == wide {
		return stdout(cmd)
	}
	return stderr(cmd)
}

// print writes objects as kubectl does; nothing where a person is told.
func (o *objectsFlag) print(to output.Writer, objects []*unstructured.Unstructured) error {
	switch o.format {
	case "name":
		for _, object := range objects {
			to.Printf("%s/%s\n", strings.ToLower(object.GroupVersionKind().GroupKind().String()), object.GetName())
		}
		return nil
	case "yaml":
		return writeYAML(to, objects)
	case "json":
		return writeJSON(to, objects)
	default:
		return nil
	}
}

// writeYAML writes one document for each object.
func writeYAML(to output.Writer, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		to.Printf("---\n")
		if err := to.YAML(object); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes a List, as JSON has no documents.
func writeJSON(to output.Writer, objects []*unstructured.Unstructured) error {
	return to.JSON(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
}
