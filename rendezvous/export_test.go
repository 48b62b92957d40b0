package rendezvous

// Connect lets tests speak the protocol without a Group.
var Connect = connect
