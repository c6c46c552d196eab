package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/validation/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// libraryMessage is a sentence of OLM's library, which mostly names neither the field nor the next step.
type libraryMessage struct {
	contains string // some words of it
	find     locator
	remedy   string
}

var libraryMessages = []libraryMessage{
	// olm-csv
	{"metadata.name ", fieldAt("metadata.name"), "write a name in lower case of at most 63 characters, such as shop.v1.0.0"},
	{"spec.replaces ", fieldAt("spec.replaces"), "write the metadata.name of the version that this one replaces"},
	{"both `alm-examples` and", fieldAt(annotation("olm.examples")), "remove olm.examples"},
	{"annotations not found", fieldAt("metadata.annotations"), "add the annotation alm-examples: a JSON list with an example of each API that is owned"},
	{"invalid example", fieldAt(almExamples), "write alm-examples as a JSON list of objects"},
	{"error decoding example", fieldAt(almExamples), "write alm-examples as a JSON list of objects"},
	{"example must have a provided API", fieldAt(almExamples), "own its API in spec.customresourcedefinitions, or remove the example"},
	{"should have an example annotation", ownedAPI, "add an example to the annotation alm-examples"},
	{"couldn't parse plural.group", ownedByName, "write the name of the definition: plural.group"},
	{"install modes not found", fieldAt("spec.installModes"), "list all four modes, each with supported: true or false"},
	{"only AllNamespaces InstallModeType", fieldAt("spec.installModes"), "support AllNamespaces only: a conversion webhook converts the objects of all namespaces"},
	{"none of InstallModeTypes", fieldAt("spec.installModes"), "set supported: true for at least one mode"},
	{"inKubeVersion", fieldAt("spec.minKubeVersion"), "write the oldest version of Kubernetes that it works with, such as 1.29.0"},
	{"required field missing", missingField, "write it"},
	{"uses wrong case", wrongCase, "rename the annotation"},
	{"found olm.properties annotation", fieldAt(annotation("olm.properties")), "move them to metadata/properties.yaml"},

	// olm-bundle
	{"duplicate CRD", definitionOf, "keep one definition of the kind"},
	{"not found in bundle", ownedAPI, "add the definition to the bundle, or remove the entry"},
	{"but not defined in CSV", definitionOf, "name it in spec.customresourcedefinitions.owned, or remove it from the bundle"},
	{"invalid service account", serviceAccount, "remove the object: the account is created from the permissions of the ClusterServiceVersion"},
	{"maximum bundle compressed size", largest, "shorten the largest definitions: descriptions of fields take most"},
	{"bundle name with release", fieldAt("metadata.name"), "name it so, or leave spec.release out"},
	{"relatedImages[", valueAsPath, "write the name of an image, with its tag or digest"},

	// olm-object
	{"maxUnavailable field", fieldAt("spec.maxUnavailable"), "let one pod be away, or nodes cannot be drained"},
	{"minAvailable field", fieldAt("spec.minAvailable"), "let one pod be away, or nodes cannot be drained"},
	{"globalDefault field", fieldAt("globalDefault"), "leave it out: pods name the class that they want"},
	{"RBAC includes permission", ruleOf, "leave the permission out, or limit it by resourceNames to objects of the operator"},
	{"error unmarshaling", fieldAt(""), "correct the field that has another type"},

	// olm-removed-apis
	{"this bundle is using APIs", removedAPI, "take the version that has replaced it"},

	// olm-good-practices
	{"unable to find a deployment", fieldAt("spec.install.spec.deployments"), "add the operator's Deployment"},
	{"unable to find the resource requests", withoutRequests, "write requests for cpu and memory"},
	{"csv.metadata.Name", fieldAt("metadata.name"), "end it in .v and a semantic version, such as shop.v1.0.0"},
	{"channel(s)", channels, "begin the names of channels with candidate, fast or stable"},
	{"permissions to create CRD", createsDefinitions, "let the bundle bring the definitions"},
	{"has an empty description", describedAPI, "describe in a sentence what the API is for"},

	// olm-operatorhub, olm-categories, olm-capabilities
	{"csv.Spec.Provider.Name", fieldAt("spec.provider.name"), "name the provider of the operator"},
	{"csv.Spec.Maintainers", fieldAt("spec.maintainers"), "write the name and the e-mail address of each"},
	{"csv.Spec.Links", fieldAt("spec.links"), "write the name and the whole URL of each"},
	{"csv.Spec.Version", fieldAt("spec.version"), "write the version, such as 1.0.0"},
	{"csv.Spec.Icon", fieldAt("spec.icon"), "add one icon, with base64data and mediatype: a PNG, JPEG, GIF or SVG"},
	{`Annotations["categories"]`, fieldAt(annotation("categories")), "take categories that OperatorHub.io has, separated by commas"},
	{"capabilities level", fieldAt(annotation("capabilities")), "write Basic Install, Seamless Upgrades, Full Lifecycle, Deep Insights or Auto Pilot"},
}

var almExamples = annotation("alm-examples")

func annotation(key string) string { return "metadata.annotations[" + key + "]" }

func (s *subject) fromLibrary(o *bundle.Object, e errors.Error, level Level) {
	e.Detail = shortened(e.Detail, maxSentence, " ...")
	i := slices.IndexFunc(libraryMessages, func(known libraryMessage) bool { return strings.Contains(e.Detail, known.contains) })
	known := libraryMessage{find: fieldAt(""), remedy: "correct it as the message requires"} // by a validator newer than this list
	if i >= 0 {
		known = libraryMessages[i]
	}
	places := known.find(s, o, e)
	if len(places) == 0 {
		places = []libraryField{{o, ""}}
	}
	what := s.fullMessage(e)
	for _, p := range places[:min(len(places), maxTranslated)] {
		s.reportAt(level, p.object, p.path, what, known.remedy)
	}
}

// maxSentence limits the bytes of each error of the library: it may list all objects in each error.
const maxSentence = 4 << 10

// fullMessage adds what a message is about, and sorts items that the library lists in no order.
func (s *subject) fullMessage(e errors.Error) string {
	what := strings.TrimPrefix(e.Detail, "("+s.CSV.Name+") ")
	what = quoted.ReplaceAllStringFunc(what, func(list string) string {
		items := strings.Fields(strings.Trim(list, "[]"))
		slices.Sort(items)
		return "[" + strings.Join(items, " ") + "]"
	})
	about := e.Field
	switch value := e.BadValue.(type) {
	case error:
		about = value.Error()
	case fmt.Stringer:
		about = value.String()
	}
	if strings.Contains(what, about) {
		return what
	}
	return what + ": " + about
}

var quoted = regexp.MustCompile(`\["[^\]]*"\]`)
