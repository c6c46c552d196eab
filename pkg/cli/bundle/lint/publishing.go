package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const bundleAnnotation = "operators.operatorframework.io.bundle."

// publishingChecks are about what catalogs and nodes make of a bundle.
var publishingChecks = []Check{
	{
		Code: "media-type", Level: Error, Basis: Policy,
		Explain: `The annotation operators.operatorframework.io.bundle.mediatype.v1 says how programs read the bundle. What is in manifests/ is read as registry+v1 here; another value,
such as helm or plain+v0, makes OLM read it otherwise, or refuse it. Write registry+v1.`,
		find: annotationCheck("mediatype.v1", func(_ *subject, value string) (string, string) {
			if value == "registry+v1" {
				return "", ""
			}
			return fmt.Sprintf("OLM does not read the bundle as registry+v1: its media type is %.100q", value), "write registry+v1"
		}),
	},
	{
		Code: "default-channel", Level: Warning, Basis: Policy,
		Explain: `The default channel is the one that a Subscription without channel follows. It has to be a channel of the package: a catalog with a default channel that
no bundle is in is not built. Name one of operators.operatorframework.io.bundle.channels.v1, or waive this where another bundle of the package is in the channel.`,
		find: annotationCheck("channel.default.v1", func(s *subject, value string) (string, string) {
			if value == "" || len(s.Channels()) == 0 || slices.Contains(s.Channels(), value) {
				return "", ""
			}
			return fmt.Sprintf("the default channel %.100q is none of the channels of the bundle (%s)", value, strings.Join(s.Channels(), ", ")), "name one of the channels, add it to " + bundleAnnotation + "channels.v1, or waive this if another bundle of the package is in it"
		}),
	},
	{
		Code: "replaces-itself", Level: Error, Basis: Policy,
		Explain: `spec.replaces and spec.skips name earlier versions. A version that replaces or skips itself has no place in the order of versions: catalogs refuse it, and an upgrade would
wait for the version that it removes.`,
		find: func(s *subject) []mistake {
			var all []mistake
			if s.CSV.Spec.Replaces == s.CSV.Name {
				all = append(all, s.inCSV("spec.replaces", "the version replaces itself", "name the previous version, or remove the field"))
			}
			for i, skipped := range s.CSV.Spec.Skips {
				if skipped == s.CSV.Name {
					all = append(all, s.inCSV(fmt.Sprintf("spec.skips[%d]", i), "the version skips itself", "remove the entry"))
				}
			}
			return all
		},
	},
	{
		Code: "image-without-version", Level: Error, Basis: Policy,
		Explain: `An image with neither tag nor digest is the tag latest, whatever that is when a node pulls it: pods of one Deployment run different programs, and the bundle installs
another operator tomorrow than today. Write a digest, or at least a tag.`,
		find: imagesWithoutVersion,
	},
}

// annotationCheck looks at one annotation of the bundle, if it is there.
func annotationCheck(name string, look func(s *subject, value string) (what, wayOut string)) func(*subject) []mistake {
	return func(s *subject) []mistake {
		value, there := s.Annotations[bundleAnnotation+name]
		if !there || s.AnnotationsObject == nil {
			return nil
		}
		what, wayOut := look(s, value)
		if what == "" {
			return nil
		}
		return []mistake{{object: s.AnnotationsObject, path: "annotations[" + bundleAnnotation + name + "]", what: what, wayOut: wayOut}}
	}
}

// versioned is the end of an image's name that says which version: a tag, behind the last slash, or a digest.
var versioned = regexp.MustCompile(`(:[^/:]+|@sha256:[0-9a-f]+)$`)

func imagesWithoutVersion(s *subject) []mistake {
	var all []mistake
	for _, d := range s.deployments() {
		pod := d.Spec.Template.Spec
		for field, containers := range map[string][]corev1.Container{"containers": pod.Containers, "initContainers": pod.InitContainers} {
			for i, c := range containers {
				if c.Image != "" && !versioned.MatchString(c.Image) {
					all = append(all, s.inCSV(fmt.Sprintf("%s.spec.template.spec.%s[%d].image", d.path, field, i),
						fmt.Sprintf("the image %.200q has neither tag nor digest: each node runs what is the latest when it pulls", c.Image), "add the tag, or better the digest"))
				}
			}
		}
	}
	return all
}
