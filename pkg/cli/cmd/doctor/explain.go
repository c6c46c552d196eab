package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// explainOptions are the flags of doctor explain.
type explainOptions struct {
	connection  flags.Cluster
	output      flags.Output
	file        string
	dumps       []string
	operation   string
	subresource string
	user        string
	groups      []string
	all         bool
}

func newExplainCommand() *cobra.Command {
	o := explainOptions{connection: flags.NewCluster()}
	cmd := &cobra.Command{
		Use:   "explain -f FILE",
		Short: "Show which webhooks and policies see a request, in which order, and what happens when one does not answer",
		Long: `Shows the admission webhooks and admission policies that see a request, in the order of the API server:
MutatingAdmissionPolicies, mutating webhooks, ValidatingAdmissionPolicies, validating webhooks. Rules, matchPolicy, selectors,
bindings, parameters and matchConditions are evaluated with the packages of the API server. The command sends no request to a
webhook, and writes nothing.

The object is the one of the file. The command knows neither the defaults of built-in kinds nor the changes that mutating
webhooks and policies make: an objectSelector or a condition may have another result for such a field.

With --operation UPDATE or DELETE, the stored object is read from the cluster, or from a dump.

With --dump, the command reads files instead of a cluster: the output of kubectl get -o yaml of webhook configurations,
policies, their bindings and parameters, Namespaces and CustomResourceDefinitions. The output of
kubectl get --raw /apis/GROUP/VERSION in a dump has the resources of built-in kinds. Without it, the resource is guessed from the
kind, an object without metadata.namespace is not namespaced unless --namespace is set, and other versions of it are not known.
A condition that asks the authorizer has the verdict Unknown.`,
		Example: `  kubectl webhooks doctor explain -f pod.yaml --request-user system:serviceaccount:shop:builder
  kubectl webhooks doctor explain -f shop.yaml --operation DELETE --all
  kubectl webhooks doctor explain -f shop.yaml --dump webhooks.yaml,namespaces.yaml,crds.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			explanation, err := o.explain(cmd)
			if err != nil {
				return err
			}
			if o.output.Format != "" {
				return o.output.Print(terminal.Stdout(cmd), explanation)
			}
			printExplanation(terminal.Stdout(cmd), explanation, o.all)
			return nil
		},
	}
	o.connection.Add(cmd, cmd.Flags())
	o.output.Add(cmd, "json", "yaml")
	f := cmd.Flags()
	f.StringVarP(&o.file, "filename", "f", "", "file with the object of the request, or - for the standard input (required)")
	f.StringSliceVar(&o.dumps, "dump", nil, "files with the objects of a cluster, to be read instead of a cluster")
	f.StringVar(&o.operation, "operation", "CREATE", "CREATE, UPDATE or DELETE")
	f.StringVar(&o.subresource, "subresource", "", "subresource of the request, such as status")
	f.StringVar(&o.user, "request-user", "", "user of the request (default: the user of the connection)")
	f.StringSliceVar(&o.groups, "request-groups", nil, "groups of --request-user, as --as-group of kubectl")
	f.BoolVar(&o.all, "all", false, "also show webhooks and policies that do not see the request, with the reason")
	flags.Complete(cmd, "operation", "CREATE", "UPDATE", "DELETE")
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

func (o explainOptions) explain(cmd *cobra.Command) (explain.Explanation, error) {
	object, err := o.object(cmd)
	if err != nil {
		return explain.Explanation{}, err
	}
	if len(o.groups) > 0 && o.user == "" {
		return explain.Explanation{}, errors.New("--request-groups needs --request-user")
	}
	if len(o.dumps) > 0 {
		return o.fromDumps(object)
	}
	return o.fromCluster(cmd.Context(), object)
}

// object reads the object of the request.
func (o explainOptions) object(cmd *cobra.Command) (*unstructured.Unstructured, error) {
	read := func() ([]byte, error) { return os.ReadFile(o.file) }
	if o.file == "-" {
		read = func() ([]byte, error) { return io.ReadAll(cmd.InOrStdin()) }
	}
	text, err := read()
	if err != nil {
		return nil, err
	}
	objects, err := explain.Objects(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.file, err)
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s has %d objects: name a file with the one object of the request", o.file, len(objects))
	}
	return &objects[0], nil
}

func (o explainOptions) fromCluster(ctx context.Context, object *unstructured.Unstructured) (explain.Explanation, error) {
	c, err := o.connection.Connect()
	if err != nil {
		return explain.Explanation{}, err
	}
	s, err := c.Admission(ctx)
	if err != nil {
		return explain.Explanation{}, err
	}
	resource, known := s.Find(object.GroupVersionKind())
	if cause, lost := s.Undiscovered[object.GroupVersionKind().GroupVersion()]; !known && lost {
		return explain.Explanation{}, fmt.Errorf("the resources of %s cannot be read: %s: make its API server available: kubectl get apiservices", object.GroupVersionKind().GroupVersion(), cause)
	}
	if !known {
		return explain.Explanation{}, fmt.Errorf("the API server does not serve %s: correct apiVersion and kind of the object", object.GroupVersionKind())
	}
	if resource.Namespaced && object.GetNamespace() == "" {
		namespace, err := o.connection.CurrentNamespace()
		if err != nil {
			return explain.Explanation{}, err
		}
		object.SetNamespace(namespace)
	}
	r := o.request(object, resource)
	if r.Operation != admissionregistrationv1.Create {
		if r.Old, err = c.Stored(ctx, resource, object.GetNamespace(), object.GetName()); err != nil {
			return explain.Explanation{}, err
		}
	}
	if o.user == "" {
		if r.User, err = c.CurrentUser(ctx); err != nil {
			return explain.Explanation{}, err
		}
	}
	return c.Explain(ctx, s, r)
}

func (o explainOptions) fromDumps(object *unstructured.Unstructured) (explain.Explanation, error) {
	var s explain.Snapshot
	if err := readDumps(o.dumps, s.Add); err != nil {
		return explain.Explanation{}, err
	}
	resource, known := s.Find(object.GroupVersionKind())
	if namespace := *o.connection.Namespace; object.GetNamespace() == "" && (resource.Namespaced || !known && namespace != "") {
		object.SetNamespace(cmp.Or(namespace, metav1.NamespaceDefault))
	}
	if !known {
		resource = explain.Guess(object)
	}
	r := o.request(object, resource)
	if r.Operation != admissionregistrationv1.Create {
		if r.Old = s.Stored(object); r.Old == nil {
			return explain.Explanation{}, fmt.Errorf("no dump has the stored %s %s: add it for --operation %s", object.GetKind(), object.GetName(), r.Operation)
		}
	}
	return explain.Explain(s, r)
}

func (o explainOptions) request(object *unstructured.Unstructured, resource explain.Resource) explain.Request {
	resource.Subresource = o.subresource
	return explain.Request{
		Operation: admissionregistrationv1.OperationType(strings.ToUpper(o.operation)), Object: object, Resource: resource,
		User: explain.Impersonated(o.user, o.groups),
	}
}
