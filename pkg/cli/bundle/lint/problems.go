package lint

import "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"

var readingChecks = []Check{
	readProblem(bundle.NotABundle, `A registry+v1 bundle is a folder or an image with manifests/ and
metadata/annotations.yaml. manifests/ has the ClusterServiceVersion and its objects.
annotations.yaml names the package and its channels. Name the folder that contains both: neither
manifests/ itself nor the project around it.`),
	readProblem(bundle.TooBig, `The API server accepts requests of about 3 MB. OLM stores a compressed
bundle in one object of 1 MB. A file larger than the limit in the message is not a manifest: look
for binaries, or for the wrong folder.`),
	readProblem(bundle.BrokenFile, `The file is neither YAML nor JSON, or it cannot be opened. No part
of it is used. OLM refuses a bundle with such a file. The line is the place where the parser
stopped. The mistake is often one line above: an indentation, a missing colon, or a missing quote.`),
	readProblem(bundle.NotAnObject, `Every file in manifests/ has one Kubernetes object: a mapping
with apiVersion, kind and metadata.name. kubectl and the API server refuse an object without one of
the three.`),
	readProblem(bundle.NoCSV, `The ClusterServiceVersion declares the Deployments, their permissions
and their webhooks. A bundle without it cannot be installed.`),
	readProblem(bundle.SeveralCSVs, `A bundle is one version of one operator. OLM refuses a bundle
with two ClusterServiceVersions. Create one bundle for each version. spec.replaces declares the
order of the versions.`),
	readProblem(bundle.WrongCSVGroup, `The kind ClusterServiceVersion exists only in
operators.coreos.com/v1alpha1. The API server refuses another apiVersion, and nothing is installed.
The other fields were checked as if the apiVersion were correct.`),
	readProblem(bundle.UnknownKind, `The group belongs to Kubernetes or OLM, and has no kind of that
name: the name is misspelled (case matters), belongs to another apiVersion, or was removed. The API
server refuses the object, and later objects are not applied. Kinds of other groups are not checked,
because a cluster may have them.`),
	readProblem(bundle.Undecodable, `The value has another type than the field. The API server refuses
the whole object. Typical causes are a number or a boolean without quotes where a string is required
(version: 1.10, "on", "yes"), and a list where one value is required. Each such value
of an object is reported. No other check reads the object until all are correct.`),
	readProblem(bundle.TooWide, `A rule stands for every combination of the names in its lists: 200
groups and 200 resources are 40,000 combinations. API servers and other programs compute all of
them. The limits are 10,000 for the webhooks of a ClusterServiceVersion together, and 100,000 for
its permissions. The rules of all objects are limited to 4 MiB of text, and so are the rules that
bindings and aggregated roles grant, counted once for each subject or role. Name in each rule only
the groups of its resources.`),
	readProblem(bundle.UnknownField, `The type has no field of that name at that place: the name is
misspelled, has a wrong indentation, or belongs to another API version. The API server drops the
field silently, so it has no effect. kubectl apply uses strict validation and refuses the object.
bundle render omits the field.`),
	readProblem(bundle.NoAnnotation, `In metadata/annotations.yaml,
operators.operatorframework.io.bundle.package.v1 names the package of the bundle, and channels.v1
its channels. Catalogs need both annotations. The commands of this manager install the bundle
without them. A misspelled annotation is also an unknown-field.`),
	warning(readProblem(bundle.RepeatedField, `A mapping has a key twice. YAML forbids that, and most programs
use the last value. Keep one.`)),
	warning(readProblem(bundle.SeveralObjects, `The file has several objects, separated by ---. kubectl and
this manager read all of them. OLM v0 silently reads only the first one. Write each object to its
own file.`)),
	readProblem(bundle.StrayFile, `OLM refuses a bundle with a hidden file or a folder in the
manifests folder. Only the commands of this manager install such a bundle. They do not read the
file.`),
	readProblem(bundle.BrokenMetadata, `metadata/dependencies.yaml declares the dependencies of the
operator, and metadata/properties.yaml its other properties. Each file has one list with the name of
the file. Each item has a type and a value. Catalogs silently ignore anything else, so the operator
is installed without its dependencies. The commands of this manager do not resolve dependencies.`),
	readProblem(bundle.BrokenEntry, `OLM resolves the types olm.gvk, olm.package, olm.label and
olm.constraint. Each type has its own form of value. OLM ignores a dependency of another type. A
dependency with an invalid value keeps the bundle out of catalogs, or prevents its installation.
Properties of other types are not checked. The commands of this manager do not resolve dependencies.`),
}

func readProblem(kind bundle.Kind, explain string) Check {
	return Check{Code: string(kind), Level: Error, Basis: Unreadable, Explain: explain, find: func(s *subject) {
		for _, p := range s.Problems {
			if p.Kind == kind {
				s.found = append(s.found, Finding{File: p.File, Line: p.Line, Path: p.Path, What: p.Detail, Remedy: p.Remedy})
			}
		}
	}}
}

func warning(c Check) Check {
	c.Level = Warning
	return c
}
