package flags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Wide is the output format with more columns.
const Wide = "wide"

// Output is the flag --output of kubectl.
type Output struct{ Format string }

// Add adds the flag to a command, which returns an error for an unknown format before it runs.
func (o *Output) Add(cmd *cobra.Command, allowed ...string) {
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if o.Format == "" || slices.Contains(allowed, o.Format) {
			return nil
		}
		return fmt.Errorf("--output=%s: use one of %v", o.Format, allowed)
	}
	cmd.Flags().StringVarP(&o.Format, "output", "o", "", fmt.Sprintf("output format, one of %v (default: text)", allowed))
	Complete(cmd, "output", allowed...)
}

// Print writes a value as JSON or YAML.
func (o *Output) Print(to output.Writer, value any) error {
	if o.Format == "json" {
		return to.JSON(value)
	}
	return to.YAML(value)
}

// PrintRows writes a table, the names, or the value of both as JSON or YAML.
func (o *Output) PrintRows(to output.Writer, value any, names []string, table func(wide bool)) error {
	switch o.Format {
	case "", Wide:
		table(o.Format == Wide)
		return nil
	case "name":
		for _, name := range names {
			to.Printf("%s\n", name)
		}
		return nil
	default:
		return o.Print(to, value)
	}
}

// Objects is the flag --output of commands that print Kubernetes objects.
type Objects struct{ Output }

// Add adds the flag to a command. Text are the formats that do not print objects.
func (o *Objects) Add(cmd *cobra.Command, text ...string) {
	o.Output.Add(cmd, append(text, "name", "yaml", "json")...)
}

// Messages returns the Writer for messages to the user: stderr if the objects are printed to stdout.
func (o *Objects) Messages(cmd *cobra.Command) output.Writer {
	if o.Format == "" || o.Format == Wide {
		return terminal.Stdout(cmd)
	}
	return terminal.Stderr(cmd)
}

// Print writes objects as kubectl does. It writes nothing if the format is text.
func (o *Objects) Print(to output.Writer, objects []*unstructured.Unstructured) error {
	switch o.Format {
	case "name":
		for _, object := range objects {
			to.Printf("%s/%s\n", strings.ToLower(object.GroupVersionKind().GroupKind().String()), object.GetName())
		}
		return nil
	case "yaml":
		for _, object := range objects {
			to.Printf("---\n")
			if err := to.YAML(object); err != nil {
				return err
			}
		}
		return nil
	case "json":
		return to.JSON(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	default:
		return nil
	}
}
