package lint

import "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"

// readingChecks are about what cannot be read, or is read otherwise than it is written.
var readingChecks = []Check{
	readProblem(bundle.NotABundle, `A registry+v1 bundle is a folder (or an image) with manifests/, which holds a ClusterServiceVersion and what it needs, and
metadata/annotations.yaml, which names the package and its channels. Name the folder that has both; not manifests/ itself, and not the project around it.`),
	readProblem(bundle.TooBig, `The API server takes no request of more than about three megabytes, and OLM stores a whole bundle, compressed, in one object of
one megabyte. What is larger than the bounds named in the message is no manifest: look for binaries, or for the wrong folder.`),
	readProblem(bundle.BrokenFile, `The file is not YAML (or JSON), or cannot be opened. Nothing of it is used: OLM, too, refuses a bundle with such a file.
The line is where the parser gave up; the mistake is often one line above: an indentation, a missing colon, a quote that is not closed.`),
	readProblem(bundle.NotAnObject, `Every file in manifests/ holds one Kubernetes object: a mapping with apiVersion, kind and metadata.name. kubectl and the API
server refuse what has not all three.`),
	readProblem(bundle.NoCSV, `The ClusterServiceVersion is the bundle: it says which Deployments run, with which permissions, and which webhooks they serve. Without
one there is nothing to install.`),
	readProblem(bundle.SeveralCSVs, `A bundle is one version of one operator. With two ClusterServiceVersions OLM refuses to load it. Give each version a bundle of its own;
the order of versions is in spec.replaces.`),
	readProblem(bundle.WrongCSVGroup, `The kind ClusterServiceVersion exists in operators.coreos.com/v1alpha1 only. With another apiVersion the API server answers that
there is no such resource, so nothing of the bundle is ever installed. The rest of the object was checked as if its apiVersion were right.`),
	readProblem(bundle.UnknownKind, `The apiVersion is one of Kubernetes' or OLM's own, and has no kind of that name: it is misspelt (case counts), of another apiVersion, or gone
since. The API server answers that there is no such resource, and nothing that comes after the object is applied. Kinds of other groups are not judged: a cluster may have them.`),
	readProblem(bundle.Undecodable, `The value has another type than its field: the API server refuses the object as a whole. The usual causes are a number or a boolean
without quotes where text is wanted (version: 1.10, "on", "yes"), and a list where one value is wanted. The checks of a ClusterServiceVersion are not run before it
can be decoded.`),
	readProblem(bundle.TooWide, `A rule stands for each combination of what its lists name: 200 groups and 200 resources are 40,000. Programs that compare rules, API servers
among them, compute all combinations. The webhooks of a ClusterServiceVersion may have 10,000 together, and its permissions 100,000. Written out, the rules of all objects may have 4 MiB,
and so may the rules that bindings and aggregated roles give, each counted for each subject or role. Name in each rule only the groups that have the resources of the rule.`),
	readProblem(bundle.UnknownField, `No field of that name exists at that place: it is misspelt, indented wrongly, or of another API version. The API server drops it
without a word, so what it was to do does not happen; kubectl apply, which asks for strict checking, refuses the object. bundle render leaves the field out.`),
	readProblem(bundle.NoAnnotation, `metadata/annotations.yaml says by operators.operatorframework.io.bundle.package.v1 which package the bundle is a version of, and by
channels.v1 in which channels it is published. A catalog is built by them; this manager's commands install the bundle without. A misspelt annotation is an
unknown-field as well.`),
	warning(readProblem(bundle.RepeatedField, `A key stands twice in one mapping. YAML forbids that, and programs differ in what they make of it: most take the last value. Keep one.`)),
	warning(readProblem(bundle.SeveralObjects, `A file with several objects, separated by ---, is fine for kubectl, but OLM v0 reads the first alone, and never says so.
Here all are read. Give each object a file, and both mean the same.`)),
	readProblem(bundle.StrayFile, `OLM's own loader refuses a bundle whose manifests folder has a hidden file or a folder, so the bundle can be installed by this manager's
commands only. Here the file is not read.`),
	readProblem(bundle.BrokenMetadata, `metadata/dependencies.yaml says what the operator needs of others, metadata/properties.yaml its further properties for catalogs. Each is a mapping
with one list of its name, whose items have a type and a value. What is anything else, catalogs are built without, and never say so: the operator is installed without what it needs.
This manager's commands install a bundle as it is, and resolve nothing.`),
	readProblem(bundle.BrokenEntry, `OLM resolves by the types olm.gvk, olm.package, olm.label and olm.constraint, each with a value of its own. OLM ignores a dependency of another type, and one
whose value is not what its type asks for keeps the bundle out of catalogs, or its operator from being installed. Properties whose type OLM does not know are for others, and not judged.
This manager's commands resolve nothing.`),
}

// readProblem is the check for what the reader has found already.
func readProblem(kind bundle.Kind, explain string) Check {
	return Check{Code: string(kind), Level: Error, Basis: Unreadable, Explain: explain, find: func(s *subject) []mistake {
		var all []mistake
		for _, p := range s.Problems {
			if p.Kind == kind {
				all = append(all, mistake{file: p.File, line: p.Line, path: p.Path, what: p.Detail, remedy: p.Remedy})
			}
		}
		return all
	}}
}

func warning(c Check) Check {
	c.Level = Warning
	return c
}
