package settings

// Launch is what can be configured about launching anything. Of a command gpurun's own
// settings say no more; the rest is in torchrun's options.
type Launch struct {
	Grace       Seconds         `mapstructure:"grace"`
	SignalGrace Seconds         `mapstructure:"signal-grace"`
	LogLevel    string          `mapstructure:"log-level"`
	LogFormat   string          `mapstructure:"log-format"`
	JoinTimeout Seconds         `mapstructure:"join-timeout"`
	OnFailure   string          `mapstructure:"on-failure"`   // DumpOnFailure or none
	HangTimeout OptionalSeconds `mapstructure:"hang-timeout"` // 0: none
	Credentials CredentialFiles `mapstructure:",squash"`

	HealthCheck        string  `mapstructure:"health-check"`
	HealthCheckTimeout Seconds `mapstructure:"health-check-timeout"`
}

// DumpOnFailure is the OnFailure that has the job say what the other workers are doing when one fails.
const DumpOnFailure = "dump"

// CredentialFiles are the files with the credentials of a node; each may be empty.
type CredentialFiles struct {
	Token string `mapstructure:"rdzv-token-file"`
	Cert  string `mapstructure:"tls-cert"`
	Key   string `mapstructure:"tls-key"`
	CA    string `mapstructure:"tls-ca"`
}

// TLSKeys are the keys of a node's certificate, of the key to it, and of the authorities.
func TLSKeys() []string { return []string{"tls-cert", "tls-key", "tls-ca"} }

// ReadLaunch decodes these settings alone: others may have a form of torchrun's
// that collectives do not take.
func ReadLaunch(s *Sources) (Launch, error) {
	var l Launch
	keys := append(TLSKeys(), "grace", "signal-grace", "log-level", "log-format", "rdzv-token-file", "join-timeout",
		"health-check", "health-check-timeout", "on-failure", "hang-timeout")
	if err := s.DecodeOnly(&l, keys...); err != nil {
		return l, err
	}
	if s.Source("join-timeout") == "" {
		l.JoinTimeout = 0 // the default is that of collectives; torchrun's is longer
	}
	return l, checkLaunch(s, l)
}
