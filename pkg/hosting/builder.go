package hosting

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Builder assembles one command out of controllers and webhooks. What is wrong with what
// it is told is said when the command runs, so that registering needs no error handling.
type Builder struct {
	name        string
	flags       *pflag.FlagSet
	controllers map[string]Controller
	webhooks    map[string]Webhook
	mistakes    []error
}

// NewBuilder returns a Builder for the command of that name. The name also is that of the
// leader election's Lease, and is part of the names of the webhook configurations that
// the command writes: a lower case DNS label or domain name.
func NewBuilder(name string) *Builder {
	b := &Builder{
		name:        name,
		flags:       pflag.NewFlagSet(name, pflag.ContinueOnError),
		controllers: map[string]Controller{},
		webhooks:    map[string]Webhook{},
	}
	for _, msg := range validation.IsDNS1123Subdomain(name) {
		b.mistake("NewBuilder(%q): %s", name, msg)
	}
	return b
}

// Flags returns the set in which the author's own flags belong. They are parsed when the
// command runs, before any controller or webhook is started.
func (b *Builder) Flags() *pflag.FlagSet {
	return b.flags
}

// RegisterController adds a controller under a name by which the flag --controllers
// switches it on and off.
func (b *Builder) RegisterController(name string, run Controller) {
	switch {
	case run == nil:
		b.mistake("controller %q: there is no function to run", name)
	case b.controllers[name] != nil:
		b.mistake("controller %q is registered twice: take another name, or DeregisterController first", name)
	}
	b.checkName("controller", name)
	b.controllers[name] = run
}

// DeregisterController removes a controller that somebody else registered: a base that
// several commands are built upon, for instance.
func (b *Builder) DeregisterController(name string) {
	if _, ok := b.controllers[name]; !ok {
		b.mistake("controller %q is not registered: there are %s", name, quoted(b.controllerNames()))
	}
	delete(b.controllers, name)
}

// RegisterWebhook adds a webhook under a name by which the flag --webhooks switches it on
// and off.
func (b *Builder) RegisterWebhook(name string, webhook Webhook) {
	if _, ok := b.webhooks[name]; ok {
		b.mistake("webhook %q is registered twice: take another name, or DeregisterWebhook first", name)
	}
	b.checkName("webhook", name)
	b.webhooks[name] = webhook
}

// DeregisterWebhook removes a webhook that somebody else registered.
func (b *Builder) DeregisterWebhook(name string) {
	if _, ok := b.webhooks[name]; !ok {
		b.mistake("webhook %q is not registered: there are %s", name, quoted(b.webhookNames()))
	}
	delete(b.webhooks, name)
}

// checkName keeps names usable in flags, paths, metrics and object names.
func (b *Builder) checkName(what, name string) {
	for _, msg := range validation.IsDNS1123Label(name) {
		b.mistake("%s %q: %s", what, name, msg)
	}
}

func (b *Builder) mistake(format string, args ...any) {
	b.mistakes = append(b.mistakes, fmt.Errorf(format, args...))
}

// check says all that is wrong with what is registered.
func (b *Builder) check() error {
	mistakes := slices.Clone(b.mistakes)
	if len(b.controllers)+len(b.webhooks) == 0 {
		mistakes = append(mistakes, errors.New("nothing is registered: neither a controller nor a webhook"))
	}
	paths := map[string]string{}
	for _, name := range b.webhookNames() {
		w := b.webhooks[name].withDefaults(name)
		if err := w.check(); err != nil {
			mistakes = append(mistakes, fmt.Errorf("webhook %q: %w", name, err))
		}
		if other, taken := paths[w.Path]; taken {
			mistakes = append(mistakes, fmt.Errorf("webhooks %q and %q both have the path %s", other, name, w.Path))
		}
		paths[w.Path] = name
	}
	return errors.Join(mistakes...)
}

func (b *Builder) controllerNames() []string {
	return slices.Sorted(maps.Keys(b.controllers))
}

func (b *Builder) webhookNames() []string {
	return slices.Sorted(maps.Keys(b.webhooks))
}
