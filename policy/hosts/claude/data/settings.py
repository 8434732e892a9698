"""What the values of settings must be in Claude Code 2.1.329, or their file is rejected.

Read in the text of the program, and tried there key by key. A key that is not here takes any
value: the host skips a wrong one (``effortLevel``, ``enabledMcpjsonServers``). Of ``hooks`` see
`policy.hosts.claude.data.hooks`.
"""

from __future__ import annotations

from typing import Final

from policy.documents.shapes import Either, Kind, Listed, Named, Record, Shape, Word

__all__ = [
    "ASKING_TOOLS",
    "EDITS_INSIDE",
    "FENCES",
    "FILE_READS_INSIDE",
    "NO_AUTO",
    "READS_INSIDE",
    "SILENT",
    "SILENT_SCOPES",
    "TOOLS_OFF",
    "VALUES",
]

# What settings call it that reads and edits are kept in working folders: by whatever reads, by
# what edits, and by the tools for files alone, which only whoever starts the host can say.
READS_INSIDE: Final = "blockReadsOutsideWorkingDirectories"
EDITS_INSIDE: Final = "blockWritesOutsideWorkingDirectories"
FILE_READS_INSIDE: Final = "blockFileToolReadsOutsideWorkingDirectories"
# Each with the scopes of settings whose additional folders count as inside: what comes with the
# files of a project opens nothing, and what whoever starts the host says nobody else does.
FENCES: Final = {
    READS_INSIDE: frozenset({"managed", "flag", "local", "user"}),
    EDITS_INSIDE: frozenset({"managed", "flag", "local", "user"}),
    FILE_READS_INSIDE: frozenset({"flag"}),
}


# What settings call it that nobody is asked: what would be asked for is denied. It counts where a
# project does not say it.
SILENT: Final = "denyInsteadOfPrompting"
SILENT_SCOPES: Final = frozenset({"managed", "flag", "user"})
# Tools that are not there then.
ASKING_TOOLS: Final = ("AskUserQuestion",)

# What settings call it that no model judges calls, in `permissions` and beside it.
NO_AUTO: Final = "disableAutoMode"
# Key -> what it says where the tools are switched off, and which those are. Of `Workflow` it is
# observed; no session without a person had `Artifact`.
TOOLS_OFF: Final = {
    "disableWorkflows": (True, ("Workflow",)),
    "enableWorkflows": (False, ("Workflow",)),
    "disableArtifact": (True, ("Artifact",)),
    "enableArtifact": (False, ("Artifact",)),
}


def _each(shape: Shape, names: str) -> dict[str, Shape]:
    return dict.fromkeys(names.split(), shape)


_TEXTS: Final = Listed(Kind.TEXT, "a list of strings")
_COMMAND: Final[dict[str, Shape]] = {"type": Word("command"), "command": Kind.TEXT}
_PLAIN: Final = Either(Kind.TEXT, Kind.NUMBER, Kind.TRUTH, _TEXTS)

_CREDENTIAL: Final[dict[str, Shape]] = {
    "mode": Word("deny", "mask"),
    "extract": Kind.TEXT,
    "onExtractNoMatch": Word("warn", "deny", "error"),
    "decode": Word("jwt"),
    "maskClaims": _TEXTS,
    "injectHosts": _TEXTS,
}
_SANDBOX: Final = Record(
    {
        **_each(
            Kind.TRUTH,
            "enabled failIfUnavailable autoAllowBashIfSandboxed allowUnsandboxedCommands"
            " enableWeakerNestedSandbox allowNestedUserNamespaces enableWeakerNetworkIsolation"
            " allowAppleEvents",
        ),
        "excludedCommands": _TEXTS,
        "ignoreViolations": Named(_TEXTS),
        "ripgrep": Record({"command": Kind.TEXT, "args": _TEXTS}, needed=("command",)),
        "windows": Record({"backend": Word("sandboxuser", "mxc")}),
        "network": Record(
            {
                **_each(_TEXTS, "allowedDomains deniedDomains allowUnixSockets allowMachLookup"),
                **_each(
                    Kind.TRUTH,
                    "strictAllowlist allowManagedDomainsOnly allowAllUnixSockets allowLocalBinding",
                ),
                **_each(Kind.NUMBER, "httpProxyPort socksProxyPort"),
                "tlsTerminate": Record(_each(Kind.TEXT, "caCertPath caKeyPath")),
            }
        ),
        "filesystem": Record(
            {
                **_each(_TEXTS, "allowWrite denyWrite denyRead allowRead"),
                **_each(Kind.TRUTH, "allowManagedReadPathsOnly disabled"),
            }
        ),
        "credentials": Record(
            {
                "allowPlaintextInject": Kind.TRUTH,
                "files": Listed(
                    Record({"path": Kind.TEXT, **_CREDENTIAL}, needed=("path", "mode"))
                ),
                "envVars": Listed(
                    Record({"name": Kind.TEXT, **_CREDENTIAL}, needed=("name", "mode"))
                ),
            }
        ),
    }
)

# What `hooks` and `permissions` hold is read elsewhere.
VALUES: Final = Record(
    {
        **_each(
            Kind.TEXT,
            "$schema advisorModel agent apiKeyHelper attributionProject autoMemoryDirectory"
            " awsAuthRefresh awsCredentialExport claudeMd gcpAuthRefresh language"
            " minimumVersion model otelHeadersHelper outputStyle plansDirectory"
            " pluginTrustMessage prUrlTemplate processWrapper proxyAuthHelper"
            " requiredMaximumVersion requiredMinimumVersion timeFormat timeZone",
        ),
        **_each(
            Kind.TRUTH,
            "agentPushNotifEnabled allowAllClaudeAiMcps allowClaudeInChromeWithManagedMcp"
            " allowManagedHooksOnly allowManagedMcpServersOnly allowManagedPermissionRulesOnly"
            " allowNestedModelAccessUnderForceLogin alwaysThinkingEnabled autoCompactEnabled"
            " autoContinueAtUsageLimit autoDreamEnabled autoMemoryEnabled autoScrollEnabled"
            " autoUploadSessions awaySummaryEnabled bashEditDiffEnabled channelsEnabled"
            " clawdFileProgressEnabled disableAgentView disableAllHooks disableArtifact"
            " disableBundledSkills disableClaudeAiConnectors disableCommandPluginSources"
            " disableRemoteControl disableReplyCheck disableSideloadFlags"
            " disableSkillShellExecution disableWindowsBashCommandSplit disableWorkflows"
            " doneMeansMerged emojiCompletionEnabled enableAllProjectMcpServers enableArtifact"
            " enableWorkflows enforceAvailableModels fastMode fastModePerSessionOptIn"
            " fileCheckpointingEnabled forceRemoteSettingsRefresh idleCompaction"
            " includeCoAuthoredBy includeGitInstructions inputNeededNotifEnabled"
            " isolatePeerMachines precomputeCompactionEnabled prefersReducedMotion"
            " promptSuggestionEnabled remoteControlAtStartup respectGitignore"
            " respondToBashCommands responseComparisonEnabled showClearContextOnPlanAccept"
            " showMessageTimestamps showThinkingSummaries showTurnDuration"
            " skipDangerousModePermissionPrompt skipWebFetchPreflight skipWorkflowUsageWarning"
            " spinnerTipsEnabled switchModelsOnFlag syncClaudeAiPlugins syncClaudeAiSkills"
            " syntaxHighlightingDisabled terminalProgressBarEnabled terminalTitleFromRename"
            " todoFeatureEnabled totalTokensReminderAfterUserTurn verbose"
            " wheelScrollAccelerationEnabled workflowKeywordTriggerEnabled"
            " wslInheritsWindowsSettings",
        ),
        **_each(
            _TEXTS,
            "allowedHttpHookUrls availableModels claudeMdExcludes companyAnnouncements"
            " fallbackModel httpHookAllowedEnvVars pluginSuggestionMarketplaces",
        ),
        **_each(Kind.COUNT, "cleanupPeriodDays skillListingMaxDescChars totalTokensReminderBudget"),
        **_each(Named(), "autoMode env"),
        **_each(
            Listed(Named()),
            "allowedMarketplaces blockedMarketplaces strictKnownMarketplaces",
        ),
        "enabledPlugins": Named(Either(Kind.TRUTH, _TEXTS)),
        "allowedChannelPlugins": Listed(
            Record(_each(Kind.TEXT, "marketplace plugin"), needed=("marketplace", "plugin"))
        ),
        "attribution": Either(
            Kind.TRUTH, Record({**_each(Kind.TEXT, "commit pr"), "sessionUrl": Kind.TRUTH})
        ),
        "autoUpdatesChannel": Word("latest", "stable", "rc"),
        "breakReminder": Record(
            {
                "enabled": Kind.TRUTH,
                **_each(Kind.COUNT, "intervalMinutes breakThresholdMinutes"),
                "message": Kind.TEXT,
            }
        ),
        "daemonColdStart": Word("transient", "ask"),
        "defaultShell": Word("bash", "powershell"),
        "desktopSessionCleanupPeriodDays": Kind.WHOLE,
        "disableAutoMode": Word("disable"),
        "feedbackDrafts": Word("notify", "quiet", "off"),
        "feedbackSurveyRate": Kind.RATE,
        "fileSuggestion": Record(_COMMAND, needed=("type", "command")),
        "forceLoginOrgUUID": Either(Kind.TEXT, _TEXTS),
        **_each(Word("first-wins", "merge"), "managedSourcesBehavior parentSettingsBehavior"),
        "modelOverrides": Named(Kind.TEXT),
        "pluginConfigs": Named(
            Record({"mcpServers": Named(Named(_PLAIN)), "options": Named(_PLAIN)})
        ),
        "quietHours": Record({"enabled": Kind.TRUTH, **_each(Kind.TIME, "start end")}),
        "remote": Record({"defaultEnvironmentId": Kind.TEXT}),
        "remoteTools": Record({"allowUnattendedServing": Kind.TRUTH}),
        "sandbox": _SANDBOX,
        "skillListingBudgetFraction": Kind.SHARE,
        "skillOverrides": Named(Word("on", "name-only", "user-invocable-only", "off")),
        "spinnerVerbs": Record(
            {"mode": Word("append", "replace"), "verbs": _TEXTS}, needed=("mode", "verbs")
        ),
        "sshConfigs": Listed(
            Record(
                {
                    **_each(Kind.TEXT, "id name sshHost sshIdentityFile startDirectory"),
                    "sshPort": Kind.NUMBER,
                },
                needed=("id", "name", "sshHost"),
            )
        ),
        "statusLine": Record(
            {**_COMMAND, "padding": Kind.NUMBER, "hideVimModeIndicator": Kind.TRUTH},
            needed=("type", "command"),
        ),
        "totalTokensReminder": Word("off", "infinite", "fixed", "countdown", "padded-countdown"),
        "tui": Word("default", "fullscreen"),
        "voice": Record({**_each(Kind.TRUTH, "enabled autoSubmit"), "mode": Word("hold", "tap")}),
        "workflowSizeGuideline": Word("unrestricted", "small", "medium", "large"),
        "worktree": Record(
            {**_each(_TEXTS, "symlinkDirectories sparsePaths"), "baseRef": Word("fresh", "head")}
        ),
    }
)
