package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"
)

// objectsFlag is -o of the commands that print, bring or take objects: as kubectl apply has it.
type objectsFlag struct{ outputFlag }

func (o *objectsFlag) add(cmd *cobra.Command, forPeople ...string) {
	o.outputFlag.add(cmd, append(forPeople, "name", "yaml", "json")...)
}

// wide is the format that tells people more.
const wide = "wide"

// tellsOn is where people are told what happens: on stderr when programs read the objects.
func (o *objectsFlag) tellsOn(cmd *cobra.Command) io.Writer {
	if o.format == "" || o.format == wide {
		return cmd.OutOrStdout()
	}
	return cmd.ErrOrStderr()
}

// print writes objects as kubectl does; nothing where a person is told.
func (o *objectsFlag) print(to io.Writer, objects []*unstructured.Unstructured) error {
	switch o.format {
	case "name":
		for _, object := range objects {
			if err := (&printers.NamePrinter{}).PrintObj(object, to); err != nil {
				return err
			}
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
func writeYAML(to io.Writer, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(to, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes a List, as JSON has no documents.
func writeJSON(to io.Writer, objects []*unstructured.Unstructured) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
}
