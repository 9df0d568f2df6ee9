"""Keep namespaces in shape: their policies, and applying one on demand."""

from dataclasses import replace
from functools import partial
from uuid import UUID

from memoria import namespaces, policies, standings
from memoria.database import Connection, Database
from memoria.decay import Counts, Step, apply_policy, foresee_policy
from memoria.engine.transactions import Clock, Transactions
from memoria.identifiers import IdMaker
from memoria.namespaces import Namespace
from memoria.records import NamespacePolicy, Once, Policy, PolicyChanges, Principal, PruneResult, Replay
from memoria.validation import change_policy
from memoria.vocabulary import Scope


class Upkeep:
    """Read, set and apply what a namespace keeps for how long."""

    def __init__(
        self, database: Database, transactions: Transactions, ids: IdMaker, embedder_name: str, clock: Clock
    ) -> None:
        self._database = database
        self._transactions = transactions
        self._ids = ids
        self._embedder_name = embedder_name
        self._clock = clock

    async def policy(self, principal: Principal, namespace: str | None = None) -> NamespacePolicy:
        """Read the policy that holds in a namespace; one that does not exist has the defaults."""
        namespaces.require_scope(principal, Scope.READ)
        name = namespaces.resolve_namespace(principal, namespace)
        _, policy = await self._find(principal.org_id, name)
        return NamespacePolicy(name, policy)

    async def set_policy(
        self, principal: Principal, changes: PolicyChanges, *, namespace: str | None = None
    ) -> NamespacePolicy:
        """Give a namespace a policy: the defaults with these changes. Makes the namespace if there is none."""
        namespaces.require_scope(principal, Scope.ADMIN)
        name = namespaces.resolve_namespace(principal, namespace)
        policy = change_policy(Policy(), changes)
        now = self._clock()

        async def work(connection: Connection) -> NamespacePolicy:
            found = await namespaces.find_namespace(connection, principal.org_id, name)
            found = found or await namespaces.ensure_namespace(
                connection, principal.org_id, name, new_id=self._ids.next(), embedder=self._embedder_name, now=now
            )
            await policies.write_policy(connection, principal.org_id, found.id, policy, now)
            return NamespacePolicy(name, policy)

        return await self._transactions.retry(lambda: self._transactions.write(principal, work))

    async def prune(
        self,
        principal: Principal,
        changes: PolicyChanges,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        once: Once | None = None,
    ) -> PruneResult | Replay:
        """Apply a namespace's policy now, with these changes for this time; a dry run only counts.

        The work is done in steps that are committed one by one: whoever calls again after an interruption does the
        rest. A policy that is switched off is applied all the same, unless the changes say `enabled` false.
        """
        namespaces.require_scope(principal, Scope.WRITE)
        name = namespaces.resolve_namespace(principal, namespace)
        if once and (replay := await self._transactions.find_answer(principal, once)):
            return replay
        found, own = await self._find(principal.org_id, name)
        policy = change_policy(replace(own, enabled=True), changes)
        counts = Counts()
        if found is not None and policy.enabled:
            run = self._foresee if dry_run else self._apply
            counts = await run(principal, found.id, policy)

        async def work(connection: Connection) -> PruneResult:
            now = self._clock()
            left = await standings.count_retained(connection, principal.org_id, found.id, now) if found else 0
            left -= counts.archived if dry_run else 0
            return PruneResult(name, counts.moved_up, counts.moved_down, counts.archived, counts.deleted, left, dry_run)

        return await self._transactions.retry(lambda: self._transactions.write_once(principal, once, work))

    async def _find(self, org_id: UUID, name: str) -> tuple[Namespace | None, Policy]:
        async with self._database.tenant(org_id) as connection:
            found = await namespaces.find_namespace(connection, org_id, name)
            policy = await policies.read_policy(connection, org_id, found.id) if found else Policy()
            return found, policy

    async def _foresee(self, principal: Principal, namespace_id: int, policy: Policy) -> Counts:
        async with self._database.tenant(principal.org_id) as connection:
            return await foresee_policy(connection, principal.org_id, namespace_id, policy, self._clock())

    async def _apply(self, principal: Principal, namespace_id: int, policy: Policy) -> Counts:
        now, counts = self._clock(), Counts()
        step = Step(counts, 0, 0, done=False)
        while not step.done:
            begin = partial(
                apply_policy,
                org_id=principal.org_id,
                namespace_id=namespace_id,
                policy=policy,
                now=now,
                after=step.after,
            )
            step = await self._transactions.retry(partial(self._transactions.write, principal, begin))
            counts += step.counts
        return counts
