package lint

import (
	"fmt"
	"slices"
	"strings"

	"go.podman.io/image/v5/docker/reference"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

const bundleAnnotation = "operators.operatorframework.io.bundle."

var packagingChecks = []Check{
	{
		Code: "package-name", Level: Error, Basis: Rejected,
		Explain: `OperatorGroup and Subscription have the name of the package. So has the
namespace, unless the ClusterServiceVersion suggests one (operatorframework.io/suggested-namespace)
or an administrator names another. The API server refuses names with capital letters, blanks or
underscores, and namespaces with a dot or more than 63 characters. Later objects are then not
created. Catalogs and Subscriptions refer to a package by name, so the name cannot change after the
first release.`,
		find: packageMistakes,
	},
	{
		Code: "suggested-namespace", Level: Error, Basis: Broken,
		Explain: `The annotation operatorframework.io/suggested-namespace-template has a
Namespace as JSON, operatorframework.io/suggested-namespace has the name of a namespace. The
template takes precedence. Installers create this namespace unless an administrator names another. A
template that cannot be read is ignored silently: the namespace gets another name, and lacks the
labels and annotations that the operator needs, such as the pod security level. The API server
refuses an invalid Namespace, and the objects in it are not created. kube-system, kube-public
and kube-node-lease belong to Kubernetes.`,
		find: suggestionMistakes,
	},
	{
		Code: "media-type", Level: Error, Basis: Policy,
		Explain: `The annotation operators.operatorframework.io.bundle.mediatype.v1 declares
the format of the bundle. This program reads manifests/ as registry+v1. OLM reads another value,
such as helm or plain+v0, in another way, or refuses it. Write registry+v1.`,
		find: annotationCheck("mediatype.v1", func(_ *subject, value string) (string, string) {
			if value != "registry+v1" {
				return fmt.Sprintf("OLM does not read the bundle as registry+v1: its media type is %.100q", value), "write registry+v1"
			}
			return "", ""
		}),
	},
	{
		Code: "default-channel", Level: Error, Basis: Policy,
		Explain: `A Subscription without a channel follows the default channel. It has to be
a channel of the package: the build of a catalog fails if no bundle is in it. Name one of
operators.operatorframework.io.bundle.channels.v1, or waive this finding if another bundle of the
package is in the channel.`,
		find: annotationCheck("channel.default.v1", func(s *subject, value string) (string, string) {
			if value == "" || len(s.Channels()) == 0 || slices.Contains(s.Channels(), value) {
				return "", ""
			}
			return fmt.Sprintf("the default channel %.100q is none of the channels of the bundle (%s)", value, strings.Join(s.Channels(), ", ")), "name one of the channels, add it to " + bundleAnnotation + "channels.v1, or waive this if another bundle of the package is in it"
		}),
	},
	{
		Code: "replaces-itself", Level: Error, Basis: Policy,
		Explain: `spec.replaces and spec.skips name earlier versions. Catalogs refuse a
version that replaces or skips itself, and an upgrade to it never ends.`,
		find: func(s *subject) {
			if s.CSV.Spec.Replaces == s.CSV.Name {
				s.reportCSV("spec.replaces", "the version replaces itself", "name the previous version, or remove the field")
			}
			for i, skipped := range s.CSV.Spec.Skips {
				if skipped == s.CSV.Name {
					s.reportCSV(fmt.Sprintf("spec.skips[%d]", i), "the version skips itself", "remove the entry")
				}
			}
		},
	},
	{
		Code: "image-without-version", Level: Error, Basis: Policy,
		Explain: `An image without tag and digest has the tag latest, which may change
between two pulls. Then the pods of one Deployment run different programs, and a later installation
runs another version of the operator. Write a digest, or at least a tag.`,
		find: imagesWithoutVersion,
	},
	{
		Code: "image-name", Level: Error, Basis: Broken,
		Explain: `The kubelet cannot read the name of the image: it has an empty part, a
capital letter outside the tag, two tags, a template that was not resolved, or a digest of another
length. The API server accepts any text. The container waits with the reason InvalidImageName, and
no pod starts. The check reads names by the grammar that the kubelet uses.`,
		find: invalidImages,
	},
}

func annotationCheck(name string, check func(s *subject, value string) (what, remedy string)) func(*subject) {
	return func(s *subject) {
		value, there := s.Annotations[bundleAnnotation+name]
		if what, remedy := check(s, value); what != "" && there && s.AnnotationsObject != nil {
			s.report(s.AnnotationsObject, "annotations["+bundleAnnotation+name+"]", what, remedy)
		}
	}
}

func imagesWithoutVersion(s *subject) {
	s.eachImage(func(path, image string, parsed reference.Named, err error) {
		if err == nil && reference.IsNameOnly(parsed) {
			s.reportCSV(path, fmt.Sprintf("the image %.200q has neither tag nor digest: each node runs what is the latest when it pulls", image), "add the tag, or better the digest")
		}
	})
}

func invalidImages(s *subject) {
	s.eachImage(func(path, image string, _ reference.Named, err error) {
		if err != nil {
			s.reportCSV(path, fmt.Sprintf("no pod of the Deployment starts: %.200q is no name of an image: %v", image, err), "write REGISTRY/NAME:TAG or REGISTRY/NAME@DIGEST")
		}
	})
}

// eachImage calls a function for the image of each container.
func (s *subject) eachImage(do func(path, image string, parsed reference.Named, err error)) {
	for _, d := range s.deployments {
		for _, c := range containersOf(d.Spec.Template.Spec) {
			if c.Image != "" {
				parsed, err := reference.ParseNormalizedNamed(c.Image)
				do(d.path+".spec.template.spec."+c.field+".image", c.Image, parsed, err)
			}
		}
	}
}

func packageMistakes(s *subject) {
	name := s.Package()
	if name == "" {
		return // another finding reports it
	}
	refused := func(what string, reasons []string, remedy string) {
		s.report(s.AnnotationsObject, "annotations["+bundleAnnotation+"package.v1]",
			fmt.Sprintf("the API server refuses the %s %q, named after the package: %s", what, name, strings.Join(reasons, "; ")), remedy)
	}
	template, _, err := s.NamespaceTemplate()
	suggests := s.CSV.Annotations[bundle.NamespaceAnnotation] != "" || err == nil && template != nil
	if reasons := validation.NameIsDNSSubdomain(name, false); len(reasons) > 0 {
		refused("OperatorGroup and the Subscription", reasons, "name the package in lower case letters, digits and '-'")
	} else if reasons := validation.ValidateNamespaceName(name, false); len(reasons) > 0 && !suggests {
		refused("namespace", reasons, "name the package in lower case letters, digits and '-', or suggest a namespace by the annotation "+bundle.NamespaceAnnotation)
	}
}

func suggestionMistakes(s *subject) {
	template, leftOut, err := s.NamespaceTemplate()
	inTemplate, name := annotation(bundle.NamespaceTemplateAnnotation), s.SuggestedNamespace()
	if err != nil {
		s.reportCSV(inTemplate, fmt.Sprintf("%v: the namespace is created without the labels and annotations that it asks for, under the name %s", err, name),
			"write one object: a Namespace with apiVersion, kind and metadata")
		return
	}
	suggestion := metav1.ObjectMeta{Name: s.CSV.Annotations[bundle.NamespaceAnnotation]}
	at := annotation(bundle.NamespaceAnnotation)
	if template != nil {
		for _, what := range leftOut {
			s.reportCSV(inTemplate, what, "correct or remove it")
		}
		if template.Name == "" {
			s.reportCSV(inTemplate, fmt.Sprintf("it has no metadata.name: the namespace is %s, or what another installer takes", name), "write the name")
		}
		suggestion, at = template.ObjectMeta, inTemplate
		suggestion.Name = name
	}
	if bundle.BelongsToKubernetes(name) {
		s.reportCSV(at, fmt.Sprintf("namespace %s belongs to Kubernetes: bundle install refuses it without -n", name), "suggest a namespace of the operator's own")
	}
	if suggestion.Name == "" {
		return
	}
	for _, e := range validation.ValidateObjectMeta(&suggestion, false, validation.ValidateNamespaceName, field.NewPath("metadata")) {
		s.reportCSV(at, fmt.Sprintf("the API server refuses the namespace %q: %v", suggestion.Name, e), "correct the field")
	}
}
