output "command_uri" {
  description = "Where commands are sent (`trimtab send --to`)."
  value       = module.trimtab.command_uri
}
